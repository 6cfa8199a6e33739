package nextflow.headway

import groovy.transform.CompileStatic
import groovy.util.logging.Slf4j
import java.nio.file.Files
import java.nio.file.Path
import java.util.concurrent.atomic.AtomicInteger
import nextflow.executor.local.LocalExecutor
import nextflow.processor.TaskConfig
import nextflow.processor.TaskHandler
import nextflow.processor.TaskProcessor
import nextflow.processor.TaskRun
import nextflow.trace.TraceObserverV2
import nextflow.trace.TraceRecord
import nextflow.trace.event.TaskEvent
import nextflow.util.MemoryUnit

/** Sizes the tasks of Nextflow's own executors, and tells the service what they used. */
@Slf4j
@CompileStatic
class SizesObserver implements TraceObserverV2 {

    private static final List<String> TOLD = ['task_id', 'hash', 'process', 'tag', 'name', 'status', 'exit', 'attempt', 'submit', 'start',
        'complete', 'duration', 'realtime', '%cpu', 'peak_rss', 'cpus', 'memory', 'time']
    private static final int TIMES = 8 // what a task may get at most, as a multiple of what the pipeline asks for

    private final Service service

    SizesObserver(Service service) { this.service = service }

    @Override
    void onProcessCreate(TaskProcessor process) {
        final config = (Map<String, Object>) process.getConfig()
        final own = Sized.RESOURCES.keySet().findAll { config.get(it) != null }.collectEntries { [(it): config.get(it)] }
        final here = process.getExecutor() instanceof LocalExecutor ? memoryHere(process) : Long.MAX_VALUE
        final bounds = { Map limits, Map hints -> bounded(limits, hints, here) }
        for( String directive : own.keySet() )
            config.put(directive, new Sized(directive, (Map<String, Object>) own, service, process, bounds))
        if( !own.containsKey('memory') ) // what is not limited does not run out
            return
        final repeated = new AtomicInteger()
        for( String directive : Repeats.DIRECTIVES )
            config.put(directive, new Repeats(directive, config.get(directive), repeated))
    }

    /** Return the limits of a task: where the configuration has none, a multiple of what the pipeline asks for. */
    private static Map bounded(Map limits, Map hints, long here) {
        final asked = (Number) hints.memory_bytes
        if( !asked )
            return limits
        final most = limits.memory_bytes ? ((Number) limits.memory_bytes).longValue() : TIMES * asked.longValue()
        return limits + [memory_bytes: Math.min(most, here)]
    }

    /** Return what Nextflow gives to all tasks on this machine together. */
    private static long memoryHere(TaskProcessor process) {
        final bean = (com.sun.management.OperatingSystemMXBean) java.lang.management.ManagementFactory.getOperatingSystemMXBean()
        final stated = process.getSession().getExecConfigProp('local', 'memory', bean.getTotalMemorySize())
        return new MemoryUnit(stated.toString()).toBytes()
    }

    /** Let Nextflow's wrapper measure tasks. */
    @Override
    boolean enableMetrics() { true }

    @Override
    void onTaskComplete(TaskEvent event) { report(event.handler, event.trace) }

    private void report(TaskHandler handler, TraceRecord trace) {
        final sizes = (Sizes) handler.task.config.getRawValue(Sizes.KEY)
        if( sizes == null || trace == null )
            return
        final record = TOLD.collectEntries { [(it): plain(trace.get(it))] }
        if( OutOfMemory.ended(handler.task.exitStatus, handler.task.workDir) )
            record.exit = OutOfMemory.KILLED
        service.send([do: 'report', record: record] + sizes.wanted.subMap(['hints', 'input_bytes']))
    }

    private static Object plain(Object value) { value == null || value instanceof Number ? value : value.toString() }

    @Override
    void onFlowComplete() {
        service.ask([do: 'status']) // when it has answered, it has read the last report
        service.close()
    }
}

/** How attempts end that exceed their memory. */
@CompileStatic
class OutOfMemory {

    static final int KILLED = 137 // by the kernel, for batch systems and containers

    // Slurm may end the task's wrapper, too, which then leaves no exit code, or only a part of the task, which then ends as it likes.
    private static final String SLURM = /(?sm).*^slurmstepd[^\n]*(oom.kill|OOM Killed|xceeded (job |step )?memory limit).*/
    private static final int LAST_BYTES = 10_000

    static boolean ended(Integer exit, Path place) {
        exit == KILLED || exit && place != null && said(place.resolve(TaskRun.CMD_LOG)).matches(SLURM)
    }

    /** Return the end of a file; nothing if there is none. */
    private static String said(Path log) {
        try( final file = Files.newByteChannel(log) ) {
            file.position(Math.max(0, file.size() - LAST_BYTES))
            return new String(java.nio.channels.Channels.newInputStream(file).readAllBytes(), 'UTF-8')
        }
        catch( IOException ignored ) {
            return ''
        }
    }
}

/** The value of `errorStrategy`, `maxRetries` or `maxErrors`: an attempt that ran out of memory is repeated, and does not count. */
@Slf4j
@CompileStatic
class Repeats extends Closure<Object> {

    static final List<String> DIRECTIVES = ['errorStrategy', 'maxRetries', 'maxErrors']

    private final String asked
    private final Object own
    private final AtomicInteger repeated // attempts of all tasks of the process

    Repeats(String asked, Object own, AtomicInteger repeated) {
        super(null)
        this.asked = asked
        this.own = own
        this.repeated = repeated
    }

    Object doCall(Object... ignored) {
        final context = (Map) getDelegate()
        final task = (TaskConfig) context.get('task')
        final sizes = (Sizes) task.getRawValue(Sizes.KEY)
        final grows = sizes != null && ranOut(task) && grows(sizes, task)
        final stated = Sizes.resolved(own, context)
        switch( asked ) {
            case 'errorStrategy': return grows ? 'retry' : stated
            case 'maxRetries': return grows ? Integer.MAX_VALUE : (stated ? stated as int : 1) + (sizes?.repeats ?: 0)
            default: return grows || stated == null || (stated as int) == -1 ? -1 : (stated as int) + repeated.get()
        }
    }

    private static boolean ranOut(TaskConfig task) {
        final place = ((TraceRecord) task.getRawValue('previousTrace'))?.getWorkDir()
        return OutOfMemory.ended((Integer) task.getRawValue('exitStatus'), place ? Path.of(place) : null)
    }

    /** Whether the attempt ran out and there is more for the next one. */
    private boolean grows(Sizes sizes, TaskConfig task) {
        final before = sizes.repeats
        final had = sizes.amount('memory_bytes')
        final grows = sizes.growAfter(task.getAttempt())
        if( sizes.repeats > before ) {
            repeated.incrementAndGet()
            for( String name : DIRECTIVES.tail() ) // a directive that read them had them computed before
                task.put(name, task.getRawValue(name))
            log.info "${sizes.process.name} ran out of memory with ${said(had)}; it gets ${said(sizes.amount('memory_bytes'))}"
        }
        return grows
    }

    private static MemoryUnit said(Number bytes) { new MemoryUnit(bytes.longValue()) }
}
