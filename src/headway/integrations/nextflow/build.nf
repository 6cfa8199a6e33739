// Compiles the plugin with the classes of the Nextflow that runs this, whatever jars they are in.
import org.codehaus.groovy.control.CompilationUnit
import org.codehaus.groovy.control.CompilerConfiguration

if( !nextflow.version.matches('>=25.04.0') ) {
    println "Nextflow ${nextflow.version} is too old for Headway: 25.04 or newer is needed"
    System.exit(1)
}
def configuration = new CompilerConfiguration()
configuration.targetDirectory = new File(params.into)
def unit = new CompilationUnit(configuration, null, new GroovyClassLoader(nextflow.Session.classLoader))
new File(params.sources).listFiles().findAll { it.name.endsWith('.groovy') }.each { unit.addSource(it) }
unit.compile()
