#!/usr/bin/env node
/**
 * CLI: what a person types.
 */
// Must come first and import nothing: an older Node would fail at the first feature that it lacks, with an unclear
// error.
if (Number.parseInt(process.version.slice(1), 10) < 24) {
  process.stderr.write(`Hearthbus needs Node 24 or newer; this is ${process.version}.\n`)
  process.exit(2)
}
// Files that a node writes are only readable by their owner.
process.umask(0o077)
// The reader of our output may close the pipe: a gateway continues, and every other command ends by itself.
process.stdout.on('error', () => undefined)
process.stderr.on('error', () => undefined)
// The compile cache is enabled before any of our modules is loaded: the second start then takes half the time of the
// first. The cache is in the user's own folder, because compiled code is run unchecked, and the default is a shared
// temporary folder, where any user of the machine could have put it.
const home = process.env['HOME'] ?? process.env['USERPROFILE']
const { enableCompileCache } = await import('node:module')
if (home !== undefined) enableCompileCache(`${home}/.cache/hearthbus`)
const { rootCommand, simCommand } = await import('./cli/root-command.ts')
// The simulators are large, and a command such as `status` should not have to load them.
if (process.argv.includes('sim')) (await import('./cli/sim.ts')).addSimCommands(simCommand)
try {
  await rootCommand.parseAsync()
} catch (error) {
  // Every error that a person, a file or the machine can cause has been explained before it gets here, so this one is a
  // mistake of ours.
  const { stack, message } = error instanceof Error ? error : new Error(String(error))
  const details = process.env['HEARTHBUS_DEBUG'] === undefined ? 'HEARTHBUS_DEBUG=1 shows where.' : `\n${stack}`
  process.stderr.write(`Hearthbus stopped because of a bug: ${message}. Please report it. ${details}\n`)
  process.exit(1)
}
