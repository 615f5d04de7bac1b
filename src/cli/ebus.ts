/**
 * eBUS commands: what ebusd's definition files say, without a gateway and without a bus.
 *
 *   hearthbus ebus decode --definitions /etc/ebusd < rows.jsonl
 *   hearthbus ebus definitions check /etc/ebusd
 *
 * Pure: the work is `ebus-definitions-client`'s.
 */
import type { Command } from 'commander'
import { Option } from 'commander'
import { globalOptions } from './command-client.ts'

interface RowOptions {
  readonly definitions: string
  readonly language: string
}

interface CheckOptions {
  readonly language: string
  readonly strict?: boolean
  readonly summary?: boolean
}

export function addEbusCommands(program: Command): void {
  const ebus = program.command('ebus').description('ebusd’s definition files: decode, encode, check')
  for (const kind of ['decode', 'encode'] as const)
    ebus
      .command(kind)
      .description(
        kind === 'decode'
          ? 'what telegrams say: one JSON row on standard input, one on standard output'
          : 'telegrams that write or ask for values: one JSON row in, one out',
      )
      .requiredOption('--definitions <folder>', 'definition files in ebusd’s layout')
      .addOption(language())
      .action(async (options: RowOptions) => {
        const { answerRows } = await import('./ebus-definitions-client.ts')
        process.exitCode = await answerRows({ folder: options.definitions, language: options.language, kind })
      })
  ebus
    .command('definitions')
    .description('look at definition files')
    .command('check')
    .description('read every definition file of a folder; with --json one row for each message')
    .argument('<folder>', 'definition files in ebusd’s layout')
    .option('--strict', 'fail when a line was refused')
    .option('--summary', 'with --json: also one row for each file')
    .addOption(language())
    .action(async (folder: string, options: CheckOptions, command: Command) => {
      const { checkDefinitions } = await import('./ebus-definitions-client.ts')
      const { language: chosen, strict = false, summary = false } = options
      const isJson = globalOptions(command).json === true
      process.exitCode = await checkDefinitions({ folder, language: chosen, strict, summary, json: isJson })
    })
}

function language(): Option {
  return new Option('--language <xx>', 'which columns count where a file has several languages').default('en')
}
