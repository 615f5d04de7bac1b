/**
 * Program: the list of commands. Those that are the gateway load it when they are called: asking one costs no more than
 * asking takes.
 *
 * Pure: commander does the rest.
 */
import { Command, Option } from 'commander'
import { addAgentsCommands } from './agents.ts'
import { addAskingCommands } from './ask-commands.ts'
import { addChangesCommand } from './changes.ts'
import { addConsoleCommands } from './console.ts'
import { addDecidingCommands } from './decide-commands.ts'
import { addDevicesCommands } from './devices.ts'
import { addEbusCommands } from './ebus.ts'
import { addLaterCommands } from './later.ts'
import { addLedgerCommands } from './ledger.ts'
import { addMeshCommands } from './mesh.ts'
import { addHomeseerCommands } from './homeseer-client.ts'
import { addNotifyCommand } from './notify.ts'
import { addRunningCommands } from './run-commands.ts'
import { addSettingUpCommands } from './setup-commands.ts'
import { EXIT } from './print.ts'
import { VERSION } from './version-store.ts'
import { addWatchingCommands } from './watch-client.ts'

const FIRST_STEPS = `
To try it: hearthbus up --demo
For your own house: hearthbus init, then hearthbus doctor, then hearthbus up`

export const program = new Command('hearthbus')
  .description('Safe hands for AI agents in a real home.')
  .version(VERSION)
  .addOption(new Option('--data <folder>', 'data directory').env('HEARTHBUS_DATA'))
  .addOption(new Option('--config <file>', 'configuration file').env('HEARTHBUS_CONFIG'))
  .option('--json', 'answer in JSON')
  .configureHelp({ showGlobalOptions: true })
  .exitOverride((error) => {
    // commander's own exit codes say 1 for a wrong command line; ours says 2.
    process.exit(error.exitCode === 0 ? EXIT.ok : EXIT.usage)
  })

program.commandsGroup('Run:')
addRunningCommands(program)
/** Its own commands are added by whoever wants them. */
export const sim = program.command('sim').description('parts of the virtual house, for any client to be tested against')
program.commandsGroup('Set up:')
addSettingUpCommands(program)
addNotifyCommand(program)
addEbusCommands(program)
addHomeseerCommands(program)
program.commandsGroup('Look and use:')
addAskingCommands(program)
addChangesCommand(program)
addLaterCommands(program)
addWatchingCommands(program)
program.commandsGroup('Decide:')
addDecidingCommands(program)
addAgentsCommands(program)
addDevicesCommands(program)
addConsoleCommands(program)
program.commandsGroup('Records and other nodes:')
addLedgerCommands(program)
addMeshCommands(program)
// Last: commands that are made after it would inherit its heading.
program.commandsGroup('Set up:').helpCommand('help [command]', 'display help for command')
program.addHelpText('after', FIRST_STEPS)
