#!/usr/bin/env node
/**
 * CLI: what a person types. The commands are in cli/; this is the list of them.
 *
 * Does I/O.
 */
import { Command, Option } from 'commander'
import { addAskingCommands } from './cli/asking.ts'
import { addDecidingCommands } from './cli/deciding.ts'
import { addLedgerCommands } from './cli/ledger.ts'
import { addRunningCommands } from './cli/running.ts'
import { addSettingUpCommands } from './cli/setting-up.ts'
import { EXIT } from './cli/print.ts'
import { VERSION } from './cli/version-store.ts'

const program = new Command('hearthbus')
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

addRunningCommands(program)
addAskingCommands(program)
addDecidingCommands(program)
addLedgerCommands(program)
addSettingUpCommands(program)

await program.parseAsync()
