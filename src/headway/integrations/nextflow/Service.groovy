package nextflow.headway

import groovy.json.JsonOutput
import groovy.json.JsonSlurper
import groovy.transform.CompileStatic
import groovy.util.logging.Slf4j
import java.net.StandardProtocolFamily
import java.net.UnixDomainSocketAddress
import java.nio.ByteBuffer
import java.nio.channels.SocketChannel
import java.nio.charset.StandardCharsets
import java.nio.file.Files
import java.nio.file.Path
import java.util.concurrent.CompletableFuture
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.TimeUnit
import java.util.concurrent.atomic.AtomicLong
import jdk.net.ExtendedSocketOptions
import nextflow.exception.AbortOperationException

/** A conversation with `headway service` over one connection; docs/service.md has the protocol. */
@Slf4j
@CompileStatic
class Service {

    static final String VARIABLE = 'HEADWAY_NEXTFLOW_SOCKET'
    private static final Map GONE = [event: 'ended', cause: 'lost', exit_code: 125,
        message: 'the Headway service is gone; .headway/service.log says why']
    private static final int PATIENCE_S = 600

    private final SocketChannel channel = SocketChannel.open(StandardProtocolFamily.UNIX)
    private final AtomicLong number = new AtomicLong()
    private final Map<Long, Closure> listeners = new ConcurrentHashMap<>()
    private volatile boolean open = true

    Service(String path) {
        channel.connect(UnixDomainSocketAddress.of(path))
        checkPeer(path)
        send([do: 'hello', version: 1])
        Thread.startDaemon('headway-service') { listen() }
    }

    /** Refuse another user's socket, which may stand where ours did; `headway nextflow` has looked at its folder. */
    private void checkPeer(String path) {
        final peer = channel.getOption(ExtendedSocketOptions.SO_PEERCRED).user()
        if( peer != Files.getOwner(Path.of('/proc/self')) ) {
            channel.close()
            throw new AbortOperationException("$path: a process of another user (${peer.name}) answers here; nothing was sent; ask that user why")
        }
    }

    /** Send a request; the closure gets each message about it. */
    void request(Map message, Closure hear) {
        final id = number.incrementAndGet()
        listeners.put(id, hear)
        if( !open )
            tell(id, GONE)
        else
            send(message + [id: id])
    }

    /** Send a request and return the one answer to it. */
    Map ask(Map message) {
        final answer = new CompletableFuture<Map>()
        request(message) { Map heard -> answer.complete(heard) }
        return answer.completeOnTimeout(GONE, PATIENCE_S, TimeUnit.SECONDS).get()
    }

    /** Send a message to which there is no answer. */
    synchronized void send(Map message) {
        final bytes = ByteBuffer.wrap((JsonOutput.toJson(message) + '\n').getBytes(StandardCharsets.UTF_8))
        try {
            while( bytes.hasRemaining() )
                channel.write(bytes)
        }
        catch( IOException error ) {
            log.debug "Headway does not listen: $error"
        }
    }

    void close() {
        open = false
        channel.close()
    }

    private void listen() {
        final buffer = ByteBuffer.allocate(1 << 16)
        final line = new ByteArrayOutputStream()
        try {
            while( channel.read(buffer) >= 0 ) {
                buffer.flip()
                while( buffer.hasRemaining() ) {
                    final each = buffer.get()
                    if( each != (byte) 10 )
                        line.write(each)
                    else {
                        hear((Map) new JsonSlurper().parse(line.toByteArray()))
                        line.reset()
                    }
                }
                buffer.clear()
            }
        }
        catch( IOException error ) {
            log.debug "Headway hung up: $error"
        }
        open = false
        for( Long id : listeners.keySet() )
            tell(id, GONE)
    }

    private void hear(Map message) {
        log.trace "Headway says: $message"
        if( message.event == 'remark' )
            log.warn message.message.toString()
        final id = message.id
        if( id != null )
            tell(((Number) id).longValue(), message)
    }

    private void tell(long id, Map message) {
        final last = !(message.event in ['submitted', 'started', 'output'])
        final listener = last ? listeners.remove(id) : listeners.get(id)
        listener?.call(message)
    }
}
