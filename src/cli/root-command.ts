/**
 * Root command: the list of commands. Commands that run the gateway load it only when they are called, so that the
 * others start quickly.
 *
 * Pure: commander does the rest.
 */
import { Command, Option } from 'commander'
import { addAgentSigningKeyCommands } from './agents.ts'
import { addInspectionAndCallCommands } from './inspection-and-call-commands.ts'
import { addChangesCommand } from './changes.ts'
import { addConsoleCommands } from './console.ts'
import { addGuardCommands } from './guard-commands.ts'
import { addDevicesCommands } from './devices.ts'
import { addEbusCommands } from './ebus.ts'
import { addLaterCallCommands } from './planned-calls-command.ts'
import { addLedgerCommands } from './ledger.ts'
import { addMeshCommands } from './mesh.ts'
import { addHomeseerClassifyCommand } from './homeseer-client.ts'
import { addNotifyCommand } from './notify.ts'
import { addStartCommands } from './start-commands.ts'
import { addSetupCommands } from './setup-commands.ts'
import { EXIT_CODES } from './command-output.ts'
import { PACKAGE_VERSION } from './version-store.ts'
import { addWatchCommands } from './watch-client.ts'

const FIRST_STEPS = `
To try it: hearthbus up --demo
For your own house: hearthbus init, then hearthbus doctor, then hearthbus up`

const WHERE_HELP_IS = 'Add --help to any command to see what it takes.'

export const rootCommand = new Command('hearthbus')
  .description('Safe hands for AI agents in a real home.')
  .version(PACKAGE_VERSION)
  .addOption(new Option('--data <folder>', 'data directory').env('HEARTHBUS_DATA'))
  .addOption(new Option('--config <file>', 'configuration file').env('HEARTHBUS_CONFIG'))
  .option('--json', 'answer in JSON')
  .configureHelp({ showGlobalOptions: true })
  .configureOutput({
    // commander's own complaints say what is wrong; ours also say what would be right, and do not begin so.
    outputError: (text, write) => write(text.startsWith('error: ') ? `${text}${WHERE_HELP_IS}\n` : text),
  })
  .exitOverride((error) => {
    // commander's exit code for a wrong command line is 1; ours is 2.
    process.exit(error.exitCode === 0 ? EXIT_CODES.ok : EXIT_CODES.usage)
  })

rootCommand.commandsGroup('Run:')
addStartCommands(rootCommand)
/** The commands of `sim` are added only when they are needed. */
export const simCommand = rootCommand
  .command('sim')
  .description('parts of the virtual house, to test any client against')
rootCommand.commandsGroup('Set up:')
addSetupCommands(rootCommand)
addNotifyCommand(rootCommand)
addEbusCommands(rootCommand)
addHomeseerClassifyCommand(rootCommand)
rootCommand.commandsGroup('Look and use:')
addInspectionAndCallCommands(rootCommand)
addChangesCommand(rootCommand)
addLaterCallCommands(rootCommand)
addWatchCommands(rootCommand)
rootCommand.commandsGroup('Decide:')
addGuardCommands(rootCommand)
addAgentSigningKeyCommands(rootCommand)
addDevicesCommands(rootCommand)
addConsoleCommands(rootCommand)
rootCommand.commandsGroup('Records and other nodes:')
addLedgerCommands(rootCommand)
addMeshCommands(rootCommand)
// Added last, because commands that are created after it would inherit its heading.
rootCommand.commandsGroup('Set up:').helpCommand('help [command]', 'display help for command')
rootCommand.addHelpText('after', FIRST_STEPS)
for (const group of rootCommand.commands) refuseUnknownSubcommand(group)

/** Where one subcommand is the default, commander takes a misspelt one for an argument of the default. */
function refuseUnknownSubcommand(group: Command): void {
  group.hook('preSubcommand', ({ args: [word = '-'] }, chosen) => {
    if (!word.startsWith('-') && word !== chosen.name())
      group.error(`error: unknown command '${word}': there is ${group.commands.map((each) => each.name()).join(', ')}.`)
  })
}
