package nextflow.headway

import groovy.transform.CompileStatic
import groovy.util.logging.Slf4j
import java.nio.file.Files
import java.nio.file.Path
import java.util.concurrent.ConcurrentHashMap
import nextflow.exception.ProcessException
import nextflow.exception.ProcessRetryableException
import nextflow.executor.BashWrapperBuilder
import nextflow.executor.Executor
import nextflow.executor.SupportedScriptTypes
import nextflow.executor.TaskArrayExecutor
import nextflow.executor.local.NativeTaskHandler
import nextflow.processor.TaskArrayRun
import nextflow.processor.TaskHandler
import nextflow.processor.TaskMonitor
import nextflow.processor.TaskPollingMonitor
import nextflow.processor.TaskRun
import nextflow.processor.TaskStatus
import nextflow.script.ScriptType
import nextflow.trace.TraceRecord
import nextflow.util.Duration
import nextflow.util.MemoryUnit
import nextflow.util.ServiceName

/** Runs tasks in `headway service`. */
@Slf4j
@CompileStatic
@ServiceName('headway')
@SupportedScriptTypes([ScriptType.SCRIPTLET, ScriptType.GROOVY])
class HeadwayExecutor extends Executor implements TaskArrayExecutor {

    static final String NAME = 'headway'
    private static final int AT_ONCE = 1000 // the service decides what runs; more would only fill its queue

    @Override
    protected TaskMonitor createTaskMonitor() { TaskPollingMonitor.create(session, name, AT_ONCE, Duration.of('100ms')) }

    @Override
    TaskHandler createTaskHandler(TaskRun task) {
        task.type == ScriptType.GROOVY ? new GroovyTaskHandler(task, this) : new HeadwayTaskHandler(task, this)
    }

    @Override
    String getDisplayName() { NAME }

    /** What scripts see as `task.executor`: the executor in whose place this one is. */
    @Override
    String getName() { super.getName() == NAME ? 'local' : super.getName() }

    /** Submit the tasks of an array one by one: the service has no need of arrays. */
    @Override
    void submit(TaskRun task) {
        if( task instanceof TaskArrayRun )
            ((TaskArrayRun) task).children.each { monitor.schedule(it) }
        else
            super.submit(task)
    }

    @Override
    String getArrayIndexName() { 'HEADWAY_ARRAY_INDEX' }

    @Override
    int getArrayIndexStart() { 0 }

    @Override
    String getArrayTaskId(String jobId, int index) { "${jobId}_${index}" }
}

/** A task that is a function of the pipeline, and runs in Nextflow itself. */
@CompileStatic
class GroovyTaskHandler extends NativeTaskHandler {
    GroovyTaskHandler(TaskRun task, Executor executor) { super(task, executor) }
}

/** An attempt that ended since it had too little of something; Nextflow does not count it as a failure of the user's. */
@CompileStatic
class Exhausted extends Exception implements ProcessRetryableException {
    Exhausted(String message) { super(message) }
}

/** One attempt at a task. */
@Slf4j
@CompileStatic
class HeadwayTaskHandler extends TaskHandler {

    private static final Map<String, String> EXHAUSTED = [memory: 'memory_bytes', disk: 'disk_bytes', time: 'walltime_s']
    private static final int TERMINATED = 143 // what batch systems leave of a task that ran out of time
    private static final Set<String> NAMES = ConcurrentHashMap.newKeySet()
    private static final Map<String, String> ENVIRONMENT = System.getenv().findAll { it.key != Service.VARIABLE }

    private final HeadwayExecutor executor
    private final Service service = HeadwayFactory.service
    private boolean prepared
    private volatile String id
    private volatile boolean started
    private volatile Map ended

    HeadwayTaskHandler(TaskRun task, HeadwayExecutor executor) {
        super(task)
        this.executor = executor
    }

    @Override
    void prepareLauncher() {
        if( prepared ) // as one of an array
            return
        prepared = true
        task.config.getMemory() // asks for a quote, unless the script did
        if( sizes()?.isGrown() ) // the script may read what the task may use
            task.resolve(task.processor.getTaskBody())
        new BashWrapperBuilder(task).build()
    }

    @Override
    void submit() {
        submitAs(NAMES.add(task.name) ? label() : longLabel())
        status = TaskStatus.SUBMITTED
    }

    private void submitAs(String name) {
        final request = [do: 'submit', name: name, key: task.workDirStr, directory: task.workDirStr, environment: ENVIRONMENT,
            script: "exec ${BashWrapperBuilder.BASH.join(' ')} ${TaskRun.CMD_RUN} > ${TaskRun.CMD_LOG} 2>&1",
            on_exhausted: 'return', output: false, category: task.processor.name]
        service.request(request + (sizes()?.request() ?: [:])) { Map message -> take(message) }
    }

    /** What distinguishes the task from others of its process, as Nextflow shows it. */
    private String label() {
        final found = task.name =~ /\((.*)\)$/
        return found ? found.group(1) : String.valueOf(task.index)
    }

    private String longLabel() { "${label()} ${task.hashLog}" }

    private Sizes sizes() { (Sizes) task.config.getRawValue(Sizes.KEY) }

    private void take(Map message) {
        switch( message.event ) {
            case 'submitted':
                id = message.task
                return
            case 'started':
                started = true
                break
            case 'error':
                if( message.message.toString().startsWith('there is already a command') ) {
                    submitAs(longLabel()) // of an earlier run of the pipeline in the same service
                    return
                }
                ended = [cause: 'not-run', exit_code: 125, message: message.message]
                break
            default:
                ended = message
        }
        executor.getTaskMonitor().signal()
    }

    @Override
    boolean checkIfRunning() {
        if( isSubmitted() && (started || ended) ) {
            status = TaskStatus.RUNNING
            return true
        }
        return false
    }

    @Override
    boolean checkIfCompleted() {
        if( !isRunning() || ended == null )
            return false
        final cause = ended.cause.toString()
        final said = task.workDir.resolve(TaskRun.CMD_LOG)
        task.exitStatus = cause == 'time' ? TERMINATED : ended.exit_code as int
        if( EXHAUSTED.containsKey(cause) )
            exhausted(EXHAUSTED.get(cause))
        else if( cause in ['not-run', 'lost', 'launch-failed'] )
            task.error = new ProcessException(ended.message.toString())
        if( cause != 'success' ) // then the task's wrapper may not have lived to leave it
            leave(TaskRun.CMD_EXIT, String.valueOf(task.exitStatus))
        task.stdout = task.workDir.resolve(TaskRun.CMD_OUTFILE)
        task.stderr = task.exitStatus && Files.exists(said) && Files.size(said) ? said.toFile().tail(50) : task.workDir.resolve(TaskRun.CMD_ERRFILE)
        status = TaskStatus.COMPLETED
        return true
    }

    /** Have an attempt that had too little repeated with more, unless there is no more. */
    private void exhausted(String resource) {
        final had = sizes()?.amount(resource)
        if( !sizes()?.grow(resource) )
            return
        final what = resource.replaceFirst('wall', '').replaceFirst('_.*', '')
        log.info "[${task.hashLog}] ${task.name} ran out of $what with ${said(resource, had)}; it gets ${said(resource, sizes().amount(resource))}"
        task.error = new Exhausted("it ran out of $what")
        task.failCount -= 1 // Nextflow adds one, and would count that among the retries that the pipeline allows
    }

    private static Object said(String resource, Number amount) {
        resource == 'walltime_s' ? new Duration(amount.longValue() * 1000) : new MemoryUnit(amount.longValue())
    }

    private void leave(String name, String text) {
        try {
            Files.writeString(task.workDir.resolve(name), text)
        }
        catch( IOException error ) {
            log.debug "Cannot write $name in ${task.workDirStr}: $error"
        }
    }

    @Override
    protected void killTask() {
        if( id )
            service.send([do: 'cancel', task: id])
    }

    @Override
    TraceRecord getTraceRecord() {
        final record = super.getTraceRecord()
        record.put('native_id', id) // what `headway why` calls it
        return record
    }
}
