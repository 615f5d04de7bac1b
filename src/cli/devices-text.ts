/**
 * Devices text: what the commands print about devices. Names and descriptions are untrusted text, and are marked as
 * such.
 */
import { isJsonObject } from '../core/json.ts'
import type { JsonObject } from '../core/json.ts'
import type { CallResultView } from '../web/api-requests.ts'
import { sanitizeForTerminal, formatTable, toOneLine } from './command-output.ts'
import type { CommandAnswer } from './command-output.ts'
import { formatCallResult } from './gateway-text.ts'

/** The answer of `devices.enrolment.list` (devices/tools/enrolment-tools.ts). */
export interface EnrolmentListView {
  readonly pending: readonly {
    readonly code: string
    readonly id: string
    readonly board: string
    readonly firmware: string
    readonly address: string
    readonly replaces: boolean
  }[]
  readonly devices: readonly {
    readonly device: string
    readonly id: string
    readonly client_id: string
    readonly name: string
    readonly state: string
    readonly transport: string
    readonly board: string
    readonly firmware: string
    readonly online: boolean
    readonly withheld: number
  }[]
  readonly refused: readonly {
    readonly device: string | null
    readonly sentence: string
    readonly address: string
    readonly count: number
    readonly last: string | null
  }[]
  readonly ota: string
  readonly local_only: boolean
  /** Whether the owner configured where devices reach the gateway (devices.publicUrl). */
  readonly public_url: boolean
}

interface Definition {
  readonly description: string
  readonly input_schema: JsonObject
}

/** The answer of `devices.tools.list`. */
export interface DeviceToolsView {
  readonly device: string
  readonly online: boolean
  readonly tools: readonly (Definition & { readonly capability: string; readonly effect: string })[]
  readonly withheld: readonly {
    readonly tool: string
    readonly reason: 'new' | 'changed'
    readonly now?: Definition
    readonly was?: Definition | null
  }[]
  readonly digest: string | null
  readonly voice?: { readonly mode: string; readonly state?: string; readonly activation_code?: string }
  readonly problems: readonly string[]
}

export function formatDevicesTable(
  { pending, devices, refused, ...door }: EnrolmentListView,
  fromTheNetwork: (url: string) => string,
): string {
  const rows = devices.map((device) => [
    device.device,
    device.state === 'approved' ? (device.online ? 'online' : 'offline') : device.state,
    device.transport,
    `${device.board} ${device.firmware}`,
    device.id,
    device.withheld > 0 ? `${device.withheld} tools withheld: hearthbus devices show ${device.device}` : device.name,
  ])
  const waiting = pending.map((device) => [
    device.code,
    `${device.board} ${device.firmware}`,
    device.id,
    device.address,
    device.replaces ? 'has the address of an enrolled device: it was erased or replaced, or this is an impostor' : '',
  ])
  const away = refused.map(({ device, sentence, address, count, last }) => [
    device ?? 'a stranger',
    address,
    `${count} ×`,
    last ?? '',
    sentence,
  ])
  const parts = [
    rows.length === 0
      ? `No devices yet. ${whereToGo(door, fromTheNetwork)}`
      : `${formatTable(['device', 'state', 'transport', 'board', 'id', ''], rows)}\n\n${whereToGo(door, fromTheNetwork)}`,
    ...(waiting.length === 0
      ? []
      : [`Waiting (hearthbus devices approve CODE):\n${formatTable(['code', 'board', 'id', 'from', ''], waiting)}`]),
    ...(away.length === 0
      ? []
      : [`Turned away in the last day:\n${formatTable(['as', 'from', '', 'last', ''], away)}`]),
  ]
  return sanitizeForTerminal(parts.join('\n\n'))
}

function whereToGo(
  { ota, local_only: isLocal, public_url: isPublic }: Pick<EnrolmentListView, 'ota' | 'local_only' | 'public_url'>,
  fromTheNetwork: (url: string) => string,
): string {
  if (!isLocal) return `Type this into one: ${isPublic ? ota : fromTheNetwork(ota)}`
  return `Only this machine can reach the listener, at ${ota}: set devices.host to 0.0.0.0 for real ones.`
}

export function formatDeviceTools({
  device,
  online,
  tools,
  withheld,
  digest,
  problems,
  voice,
}: DeviceToolsView): string {
  const rows = tools.map(({ capability, effect, description }) => [capability, effect, description.slice(0, 100)])
  const changed = withheld.map(({ tool, reason, now, was }) =>
    [`${tool} (${reason})`, ...definitionLines('was', was), ...definitionLines('now', now)].join('\n'),
  )
  const parts = [
    `${device} is ${online ? 'online' : 'offline'}.${voiceSentence(voice)}`,
    rows.length === 0 ? 'It offers nothing.' : formatTable(['tool', 'effect', 'the device says'], rows),
    ...(changed.length === 0
      ? []
      : [`Withheld, ${digest ?? ''} (hearthbus devices approve-tools ${device}):\n${changed.join('\n')}`]),
    ...(problems.length === 0 ? [] : [`Not usable:\n${problems.map(toOneLine).join('\n')}`]),
  ]
  return sanitizeForTerminal(parts.join('\n\n'))
}

function voiceSentence(voice: DeviceToolsView['voice']): string {
  if (voice?.mode !== 'relay') return ''
  if (voice.activation_code !== undefined)
    return ` Its voice backend waits for the code ${toOneLine(voice.activation_code)}, to be typed in there.`
  return voice.state === 'absent' ? ' Its voice backend does not answer.' : ' Its voice is relayed.'
}

function definitionLines(when: string, definition: Definition | null | undefined): readonly string[] {
  if (definition === null || definition === undefined) return []
  return [`  ${when}  ${toOneLine(definition.description)}`, `       ${JSON.stringify(definition.input_schema)}`]
}

export function formatEnrolmentChangeSentence(view: JsonObject, done: string): string {
  const { device, id } = view
  const name = typeof device === 'string' && device !== '' ? device : id
  return sanitizeForTerminal(`${typeof name === 'string' ? name : 'It'} ${done}.`)
}

/** Firmware opens a WebSocket only when a person speaks to it; over MQTT it is connected from its start on. */
export function explainWhenDeviceConnects({ transport }: JsonObject): string {
  if (transport !== 'websocket') return 'is let in. It connects within seconds; its tools are then on the bus'
  return 'is let in. It connects when somebody wakes it, by voice or button; its tools are then on the bus'
}

/** Whether a text names the device: by short name, MAC address, or the name that people gave it. */
export function isNameOfDevice(device: { device: string; id: string; name: string }, given: string): boolean {
  return [device.device, device.id, device.name].some((name) => name.toLowerCase() === given.trim().toLowerCase())
}

/** Only the sentence, for a person; the whole answer is in `json`. */
export function formatRevokedSentence(device: string): string {
  return sanitizeForTerminal(
    `${device} was turned away: its credentials have ended and it offers nothing. \`hearthbus devices forget ${device}\` makes it a stranger again.`,
  )
}

export function formatFailedDeviceCall(view: CallResultView): CommandAnswer {
  const answer = formatCallResult(view)
  const error = isJsonObject(view.structured) ? view.structured['error'] : undefined
  // The sentence for models names a tool, so people get another one.
  if (isJsonObject(error) && error['code'] === 'unknown_device')
    return { ...answer, text: 'There is no such device. hearthbus devices lists them.' }
  const message = isJsonObject(error) ? error['message'] : undefined
  return typeof message === 'string' ? { ...answer, text: sanitizeForTerminal(message) } : answer
}
