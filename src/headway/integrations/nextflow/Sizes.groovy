package nextflow.headway

import groovy.transform.CompileStatic
import groovy.util.logging.Slf4j
import java.nio.file.Files
import java.nio.file.Path
import nextflow.processor.TaskConfig
import nextflow.processor.TaskPath
import nextflow.processor.TaskProcessor
import nextflow.util.Duration
import nextflow.util.MemoryUnit

/**
 * What one task may use: quotes of the service, one per attempt.
 *
 * Nextflow copies a task's configuration for its next attempt. This object is an entry of it, so all attempts share one.
 */
@Slf4j
@CompileStatic
class Sizes {

    static final String KEY = 'headwaySizes'
    private static final String SESSION = UUID.randomUUID().toString().substring(0, 8)

    final Service service
    final TaskProcessor process
    final Closure<Map> bounds // of tasks that run elsewhere: limits, given those that the configuration states and what is asked for
    private final Map<String, List<Double>> failures = [:]
    private final Map<Integer, Boolean> grown = [:] // by attempt that ran out
    private Map<String, Object> stated = [:]
    private Map wanted = [:]
    private String quote = ''
    private Map<String, Number> amounts = [:]
    private int attempt

    Sizes(Service service, TaskProcessor process, Closure<Map> bounds) {
        this.service = service
        this.process = process
        this.bounds = bounds
    }

    /** Return that of a task and all its attempts. */
    static synchronized Sizes of(TaskConfig task, Service service, TaskProcessor process, Closure<Map> bounds) {
        Sizes sizes = (Sizes) task.getRawValue(KEY)
        if( sizes == null ) {
            sizes = new Sizes(service, process, bounds)
            task.put(KEY, sizes)
        }
        return sizes
    }

    /** Make sure that there is a quote for the task's attempt, given the directives as the pipeline states them. */
    synchronized Sizes quoted(TaskConfig task, Map<String, Object> own, Map context) {
        if( attempt != task.getAttempt() ) {
            attempt = task.getAttempt()
            stated = [:]
            amounts = [:]
            stated = own.collectEntries { name, value -> [(name): resolved(value, context)] }
            wanted = [category: process.name, hints: hints(), limits: limits(task), input_bytes: inputBytes(context), malleable: malleable(task)]
                .findAll { it.value != null }
            if( bounds )
                wanted.limits = bounds.call(wanted.limits, wanted.hints)
            else if( executor() in ['local', HeadwayExecutor.NAME, 'slurm'] ) // other batch systems have other queues
                wanted += jobs(task)
            ask("${SESSION}:${process.name}:${task.get('index')}:${attempt}")
            for( String name : own.keySet() ) // a directive that reads another, as `4.GB * task.cpus`, had it computed before
                task.put(name, task.getRawValue(name))
        }
        return this
    }

    /** What the service has to know of the task to size it. */
    Map getWanted() { wanted }

    /** How a task that runs with these sizes is described to the service. */
    Map request() { quote ? wanted + [quote: quote] : wanted }

    /** Whether an attempt had too little. */
    boolean isGrown() { !failures.isEmpty() }

    Number amount(String resource) { amounts.get(resource) }

    /** What the pipeline itself asks for, computed once per attempt. */
    Object stated(String directive, Map<String, Object> own, Map context) {
        stated.containsKey(directive) ? stated.get(directive) : resolved(own.get(directive), context)
    }

    /** Ask for more than what was not enough; return whether there is more. */
    synchronized boolean grow(String resource) {
        final had = amounts.get(resource)
        if( !quote || had == null )
            return false
        failures.computeIfAbsent(resource, { new ArrayList<Double>() }).add(had.doubleValue())
        ask(quote.replaceFirst(/(\+\d+)?$/, "+${failures.values().sum { it.size() }}"))
        return quote && amounts.get(resource) > had // at its limit, an amount does not grow
    }

    /** The same for memory and an attempt that was ended by its limit; asked again, it gives the same answer. */
    synchronized boolean growAfter(int attempt) {
        if( !grown.containsKey(attempt) )
            grown.put(attempt, grow('memory_bytes'))
        return grown.get(attempt)
    }

    /** How many attempts ran out of memory and were followed by a larger one. */
    synchronized int getRepeats() { grown.values().count(true).intValue() }

    private void ask(String name) {
        final answer = service.ask([do: 'quote', quote: name, failures: failures, elsewhere: bounds != null] + wanted)
        if( answer.event == 'quoted' ) {
            quote = name
            amounts = (Map<String, Number>) answer.amounts
        }
        else {
            quote = ''
            amounts = [:]
            log.debug "No quote for $name: ${answer.message}"
        }
    }

    private Map hints() {
        final given = stated.findAll { it.value }
        return given.collectEntries { name, value -> [(Sized.RESOURCES.get(name)): Sized.number(name, value)] }
    }

    private String executor() { ((Map) process.config).get('executor') ?: HeadwayFactory.usual }

    /** In which jobs of Slurm the pipeline wants the task to run. */
    private static Map jobs(TaskConfig task) {
        final queue = task.get('queue')
        final options = task.getClusterOptionsAsString()
        return [wish: queue ? [partition: queue.toString()] : [:], sbatch: options ?: '']
    }

    private static Map limits(TaskConfig task) {
        final Map<String, Number> found = [:]
        Sized.RESOURCES.each { name, resource ->
            final limit = task.getResourceLimit(name)
            if( limit )
                found.put(resource, Sized.number(name, limit))
        }
        return found
    }

    /** Whether the pipeline or its configuration says that the task uses as many threads as `task.cpus`. */
    private static boolean malleable(TaskConfig task) {
        final ext = task.get('ext')
        return ext instanceof Map && ((Map) ext).get('malleable') == true
    }

    /** Return the value of a directive as the pipeline states it. */
    static Object resolved(Object value, Object context) {
        if( value instanceof Closure ) {
            final copy = (Closure) ((Closure) value).clone()
            copy.setDelegate(context)
            copy.setResolveStrategy(Closure.DELEGATE_FIRST)
            return copy.call()
        }
        return value
    }

    private static Long inputBytes(Map context) {
        final sizes = context.values().collectMany { it instanceof Collection ? (Collection) it : [it] }
            .findAll { it instanceof Path }
            .collect { it instanceof TaskPath ? ((TaskPath) it).toRealPath() : (Path) it }
            .findAll { Files.isRegularFile(it) }
            .collect { Files.size(it) }
        return sizes ? (Long) sizes.sum() : null
    }
}

/** The value of the directive `memory`, `cpus` or `time`: what the service quotes, given what the pipeline states. */
@CompileStatic
class Sized extends Closure<Object> {

    static final Map<String, String> RESOURCES = [memory: 'memory_bytes', cpus: 'cores', time: 'walltime_s']

    private final String asked
    private final Map<String, Object> own
    private final Service service
    private final TaskProcessor process
    private final Closure<Map> bounds

    Sized(String asked, Map<String, Object> own, Service service, TaskProcessor process, Closure<Map> bounds = null) {
        super(null)
        this.asked = asked
        this.own = own
        this.service = service
        this.process = process
        this.bounds = bounds
    }

    Object doCall(Object... ignored) {
        final context = (Map) getDelegate()
        final task = (TaskConfig) context.get('task')
        if( task.get('index') == null ) // not a task, but an array of them
            return Sizes.resolved(own.get(asked), context)
        final sizes = Sizes.of(task, service, process, bounds).quoted(task, own, context)
        final given = sizes.amount(RESOURCES.get(asked))
        return given == null ? sizes.stated(asked, own, context) : value(given)
    }

    private Object value(Number given) {
        switch( asked ) {
            case 'memory': return new MemoryUnit(given.longValue())
            case 'time': return new Duration((long) (given.doubleValue() * 1000))
            default: return Math.max(1, (int) Math.ceil(given.doubleValue()))
        }
    }

    /** Return the number behind a value of a directive, in the service's units. */
    static Number number(String directive, Object stated) {
        switch( directive ) {
            case 'memory': return (stated instanceof MemoryUnit ? (MemoryUnit) stated : new MemoryUnit(stated.toString())).toBytes()
            case 'time': return (stated instanceof Duration ? (Duration) stated
                : stated instanceof Number ? new Duration(((Number) stated).longValue()) : new Duration(stated.toString())).toMillis() / 1000
            default: return stated as Integer
        }
    }
}
