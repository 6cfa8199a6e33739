package nextflow.headway

import groovy.transform.CompileStatic
import nextflow.Session
import nextflow.plugin.BasePlugin
import nextflow.processor.TaskProcessor
import nextflow.trace.TraceObserverFactoryV2
import nextflow.trace.TraceObserverV2
import org.pf4j.PluginWrapper

@CompileStatic
class HeadwayPlugin extends BasePlugin {
    HeadwayPlugin(PluginWrapper wrapper) { super(wrapper) }
}

/** Does nothing unless `headway nextflow` started Nextflow. */
@CompileStatic
class HeadwayFactory implements TraceObserverFactoryV2 {

    // Executors of batch systems; those of clouds stay what they are.
    static final List<String> BATCH = ['slurm', 'sge', 'uge', 'lsf', 'pbs', 'pbspro', 'condor', 'moab', 'oar', 'nqsii', 'bridge',
        'crg', 'flux', 'hq']

    private static final String SIZES_ONLY = 'HEADWAY_NEXTFLOW_SIZES_ONLY'

    static Service service
    static String usual // the executor of processes that state none

    @Override
    Collection<TraceObserverV2> create(Session session) {
        final socket = System.getenv(Service.VARIABLE)
        if( !socket )
            return []
        service = new Service(socket)
        if( System.getenv(SIZES_ONLY) )
            return [(TraceObserverV2) new SizesObserver(service)]
        final executors = (Map) session.getExecutorFactory().getProperty('executorsMap')
        BATCH.each { executors.put(it, HeadwayExecutor) }
        final process = (Map) session.config.computeIfAbsent('process', { [:] })
        usual = process.executor ?: executorOf(session.config.executor) ?: 'local'
        if( usual == 'local' )
            process.executor = HeadwayExecutor.NAME
        return [(TraceObserverV2) new HeadwayObserver(service)]
    }

    private static Object executorOf(Object scope) { scope instanceof Map ? ((Map) scope).name : scope }
}

/** Lets the service say what each task of a process may use. */
@CompileStatic
class HeadwayObserver implements TraceObserverV2 {

    private final Service service

    HeadwayObserver(Service service) { this.service = service }

    @Override
    void onProcessCreate(TaskProcessor process) {
        if( process.getExecutor() !instanceof HeadwayExecutor )
            return
        final config = (Map<String, Object>) process.getConfig()
        final own = Sized.RESOURCES.keySet().collectEntries { [(it): config.get(it)] }
        for( String directive : Sized.RESOURCES.keySet() )
            config.put(directive, new Sized(directive, (Map<String, Object>) own, service, process))
    }

    @Override
    void onFlowComplete() { service.close() }
}
