/**
 * HomeSeer command: shows how devices are classed, and writes the owner's correction into the configuration file.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname } from 'node:path'
import { Argument, type Command } from 'commander'
import { parseDocument } from 'yaml'
import { resolveConfigPath } from '../config/config-file-store.ts'
import { HOMESEER_DEVICE_KINDS } from '../config/homeseer.ts'
import { readErrorMessage } from '../core/thrown-error.ts'
import { classifyAllHomeseerDevices, type ClassifiedDevice } from '../homeseer/device-classification-client.ts'
import { readCommandConfig, readGlobalOptions, printAnswer } from './command-client.ts'
import { EXIT_CODES, formatTable, type CommandAnswer, type ExitCode } from './command-output.ts'

export function addHomeseerClassifyCommand(program: Command): void {
  const homeseer = program.command('homeseer').description('what is known of HomeSeer’s devices')
  homeseer
    .command('classify')
    .description('what every device is taken for and why; with a ref and a kind, what it really is')
    .addArgument(new Argument('[ref]', 'the device that was recognised wrongly'))
    .addArgument(new Argument('[kind]', 'what it is').choices(HOMESEER_DEVICE_KINDS))
    .action(async (ref: string | undefined, kind: string | undefined, _, command: Command) => {
      if (ref !== undefined) {
        if (kind === undefined || !/^\d{1,12}$/.test(ref)) return printAnswer(command, WRONG)
      }
      // A file that cannot be read as a configuration is told with line and key, and is not written to either.
      const config = readCommandConfig(command)
      if (config === undefined) return
      if (ref !== undefined && kind !== undefined) return printAnswer(command, correct(command, ref, kind))
      const { url } = config.homeseer
      if (url === undefined) {
        printAnswer(command, refusal('homeseer.url is not set: there is no HomeSeer to ask.'))
        return
      }
      const found = await classifyAllHomeseerDevices({ ...config.homeseer, url })
      printAnswer(command, found.ok ? classesAnswer(found.value) : refusal(found.fault, EXIT_CODES.unreachable))
    })
}

const WRONG = refusal('Give the ref of a device and what it is: hearthbus homeseer classify 185 heater')

function refusal(text: string, exit: ExitCode = EXIT_CODES.usage): CommandAnswer {
  return { json: { ok: false, message: text }, text, exit }
}

function classesAnswer(devices: readonly ClassifiedDevice[]): CommandAnswer {
  const rows = devices.map(({ ref, name, kind, needsApproval, because }) => [
    String(ref),
    name,
    kind,
    needsApproval ? 'asks' : '',
    because,
  ])
  return {
    json: devices.map((device) => ({ ...device })),
    text: formatTable(['ref', 'name', 'kind', 'person', 'because'], rows),
  }
}

/** Comments and order of the file are kept. */
function correct(command: Command, ref: string, kind: string): CommandAnswer {
  const { path } = resolveConfigPath(readGlobalOptions(command).config, process.env, homedir())
  const document = parseDocument(existsSync(path) ? readFileSync(path, 'utf8') : '')
  document.setIn(['homeseer', 'classes', ref], kind)
  try {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, document.toString())
  } catch (error) {
    return refusal(`${path} cannot be written: ${readErrorMessage(error)}`)
  }
  return { json: { ref: Number(ref), kind, path }, text: `${ref} is ${kind} from the next start on (${path}).` }
}
