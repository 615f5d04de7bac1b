/**
 * eBUS commands: for ebusd's definition files and for recordings of a bus, all without a gateway.
 *
 *   hearthbus ebus decode --definitions /etc/ebusd < rows.jsonl
 *   hearthbus ebus definitions check /etc/ebusd
 *
 * Pure: ebus-definitions-store.ts and ebus-recording-client.ts do the work.
 */
import type { Command } from 'commander'
import { Option } from 'commander'
import { readGlobalOptions } from './command-client.ts'
import type { ListenAddress } from './sim-input-client.ts'
import { parseListenAddress, parsePositiveNumber } from './sim-input-client.ts'
import { createWholeNumberParser } from './whole-number.ts'

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
  const ebus = program.command('ebus').description('ebusd’s definition files, and recordings of a bus')
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
        const { decodeOrEncodeTelegramRows } = await import('./ebus-definitions-store.ts')
        process.exitCode = await decodeOrEncodeTelegramRows({
          folder: options.definitions,
          language: options.language,
          kind,
        })
      })
  addRecordingCommands(ebus)
  const definitions = ebus.command('definitions').description('look at definition files')
  // The command is listed under both: beside grab, whose findings it names, and beside the check of the files that it
  // writes.
  for (const parent of [ebus, definitions]) addDefineCommand(parent)
  definitions
    .command('check')
    .description('read every definition file of a folder; with --json one row for each message')
    .argument('<folder>', 'definition files in ebusd’s layout')
    .option('--strict', 'fail when a line was refused')
    .option('--summary', 'with --json: also one row for each file')
    .addOption(language())
    .action(async (folder: string, options: CheckOptions, command: Command) => {
      const { checkDefinitionFiles } = await import('./ebus-definitions-store.ts')
      const { language: chosen, strict = false, summary = false } = options
      const isJson = readGlobalOptions(command).json === true
      process.exitCode = await checkDefinitionFiles({ folder, language: chosen, strict, summary, json: isJson })
    })
}

function addDefineCommand(parent: Command): void {
  parent
    .command('define')
    .description('add a message to a definition file of your own, in ebusd’s format')
    .argument('<file>', 'the file, e.g. /etc/ebusd/vaillant/15.basv.csv; made if it is not there')
    .argument('<line>', 'type,circuit,level,name,comment,qq,zz,pbsb,id,fields…')
    .action(async (file: string, line: string, _, command: Command) => {
      const { appendDefinitionLine } = await import('./ebus-recording-client.ts')
      process.exitCode = appendDefinitionLine({ file, line, json: readGlobalOptions(command).json === true })
    })
}

interface ReplayOptions {
  readonly definitions?: string
  readonly listen?: ListenAddress
  readonly speed: number
}

function addRecordingCommands(ebus: Command): void {
  ebus
    .command('record')
    .description('record a bus, symbol by symbol; nothing is sent')
    .argument('<file>', 'a new file')
    .requiredOption('--adapter <adapter>', 'as in ebus.buses[].adapter, e.g. enh:192.168.1.4:9999')
    .option('--dump', 'bare symbols, as ebusd dumps them')
    .option('--seconds <n>', 'stop after this long', createWholeNumberParser(1, 31_536_000))
    .action(async (file: string, options: { adapter: string; dump?: boolean; seconds?: number }) => {
      const { recordEbus } = await import('./ebus-recording-client.ts')
      const { adapter, dump = false, seconds } = options
      process.exitCode = await recordEbus({ file, adapter, dump, seconds })
    })
  ebus
    .command('replay')
    .description('the telegrams of a recording or of ebusd’s dump, or the recording as an adapter')
    .argument('<file>', 'from record, or ebusd’s dump')
    .option('--definitions <folder>', 'definition files in ebusd’s layout, to name telegrams by')
    .addOption(
      new Option('--listen <host:port>', 'play it to clients of a plain adapter (tcp:host:port)').argParser(
        parseListenAddress,
      ),
    )
    .addOption(new Option('--speed <x>', 'how much faster').argParser(parsePositiveNumber).default(1))
    .action(async (file: string, options: ReplayOptions, command: Command) => {
      const { replayRecording } = await import('./ebus-recording-client.ts')
      const { definitions, listen, speed } = options
      const json = readGlobalOptions(command).json === true
      process.exitCode = await replayRecording({ file, definitions, listen, speed, json })
    })
  ebus
    .command('grab')
    .description('what a recording has that no definition describes: how often, and which bytes change')
    .argument('<file>', 'from record, or ebusd’s dump')
    .option('--definitions <folder>', 'definition files in ebusd’s layout')
    .action(async (file: string, options: { definitions?: string }, command: Command) => {
      const { printUnknownTelegrams } = await import('./ebus-recording-client.ts')
      const { definitions } = options
      process.exitCode = printUnknownTelegrams({ file, definitions, json: readGlobalOptions(command).json === true })
    })
}

function language(): Option {
  return new Option('--language <xx>', 'which columns count where a file has several languages').default('en')
}
