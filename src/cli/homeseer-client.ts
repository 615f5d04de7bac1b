/**
 * HomeSeer command: what devices are taken for, and the owner's correction in one step, which goes into the
 * configuration file beside everything else that the owner said.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { Argument, type Command } from 'commander'
import { parseDocument } from 'yaml'
import { resolveConfigPath } from '../config/config-store.ts'
import { HOMESEER_DEVICE_KINDS } from '../config/homeseer.ts'
import { classifyAllHomeseerDevices, type ClassifiedDevice } from '../homeseer/device-classification-client.ts'
import { readCommandConfig, readGlobalOptions, printAnswer } from './command-client.ts'
import { EXIT_CODES, formatTable, type CommandAnswer } from './command-output.ts'

export function addHomeseerCommands(program: Command): void {
  const homeseer = program.command('homeseer').description('what is known of HomeSeer’s devices')
  homeseer
    .command('classify')
    .description('what every device is taken for and why; with a ref and a kind, what it really is')
    .addArgument(new Argument('[ref]', 'the device that was recognised wrongly'))
    .addArgument(new Argument('[kind]', 'what it is').choices(HOMESEER_DEVICE_KINDS))
    .action(async (ref: string | undefined, kind: string | undefined, _, command: Command) => {
      if (ref !== undefined) {
        printAnswer(command, kind === undefined || !/^\d{1,12}$/.test(ref) ? WRONG : correct(command, ref, kind))
        return
      }
      const config = readCommandConfig(command)
      if (config === undefined) return
      const { url } = config.homeseer
      if (url === undefined) {
        printAnswer(command, {
          json: null,
          text: 'homeseer.url is not set: there is no HomeSeer to ask.',
          exit: EXIT_CODES.usage,
        })
        return
      }
      const found = await classifyAllHomeseerDevices({ ...config.homeseer, url })
      printAnswer(
        command,
        found.ok ? classesAnswer(found.value) : { json: null, text: found.fault, exit: EXIT_CODES.unreachable },
      )
    })
}

const WRONG: CommandAnswer = {
  json: null,
  text: 'Give the ref of a device and what it is: hearthbus homeseer classify 185 heater',
  exit: EXIT_CODES.usage,
}

function classesAnswer(devices: readonly ClassifiedDevice[]): CommandAnswer {
  const rows = devices.map(({ ref, name, kind, asks, because }) => [
    String(ref),
    name,
    kind,
    asks ? 'asks' : '',
    because,
  ])
  return {
    json: devices.map((device) => ({ ...device })),
    text: formatTable(['ref', 'name', 'kind', 'person', 'because'], rows),
  }
}

/** Comments and order of the file stay as they are. */
function correct(command: Command, ref: string, kind: string): CommandAnswer {
  const { path } = resolveConfigPath(readGlobalOptions(command).config, process.env, homedir())
  const document = parseDocument(existsSync(path) ? readFileSync(path, 'utf8') : '')
  if (document.errors.length > 0)
    return { json: null, text: `${path} cannot be read; nothing was changed.`, exit: EXIT_CODES.usage }
  document.setIn(['homeseer', 'classes', ref], kind)
  writeFileSync(path, document.toString())
  return { json: { ref: Number(ref), kind, path }, text: `${ref} is ${kind} from the next start on (${path}).` }
}
