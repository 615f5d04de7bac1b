#!/usr/bin/env node
/**
 * CLI: what a person types.
 */
// Here and with nothing imported before it: an older Node would stop at the first thing that it lacks, and say only
// that.
if (Number.parseInt(process.version.slice(1), 10) < 24) {
  process.stderr.write(`Hearthbus wants Node 24 or newer; this is ${process.version}.\n`)
  process.exit(2)
}
// What a node records is its owner's to read.
process.umask(0o077)
// Whoever reads our words may stop reading; a gateway goes on, and everything else ends by itself.
process.stdout.on('error', () => undefined)
process.stderr.on('error', () => undefined)
// Before anything of ours is loaded: the second start then takes half the time of the first.
const { enableCompileCache } = await import('node:module')
enableCompileCache()
const { program, sim } = await import('./cli/program.ts')
// The virtual house is large, and nobody who asks for the status wants to wait for it.
if (process.argv.includes('sim')) (await import('./cli/sim.ts')).addSimCommands(sim)
await program.parseAsync()
