/**
 * OTA diagnosis: explains how a device would interpret an OTA answer, in sentences for the person who has to fix it.
 *
 * It works on any server's answer: most devices that "do not connect" were told an address that they cannot use, such
 * as one inside of a container.
 */
import type { DoctorFinding } from '../../core/doctor-finding.ts'
import type { Json, JsonObject } from '../../core/json.ts'
import { isJsonObject } from '../../core/json.ts'
import { isLoopback } from '../../core/loopback.ts'

/** What a device would try to reach after it has parsed the answer. */
export type DeviceConnectionTarget =
  | { readonly kind: 'websocket'; readonly url: string; readonly host: string; readonly port: number }
  | { readonly kind: 'mqtt'; readonly host: string; readonly port: number }
  | { readonly kind: 'activation'; readonly code: string }
  | { readonly kind: 'nothing' }

export interface OtaDiagnosis {
  readonly target: DeviceConnectionTarget
  readonly findings: readonly DoctorFinding[]
}

const about = 'device'
const good = (sentence: string): DoctorFinding => ({ level: 'ok', about, sentence })
const doubt = (sentence: string): DoctorFinding => ({ level: 'warn', about, sentence })
/** A problem that prevents the device from connecting. */
const problem = (sentence: string): DoctorFinding => ({ level: 'fail', about, sentence })

export function diagnoseOtaAnswer(answer: JsonObject): OtaDiagnosis {
  const findings = [...aboutTime(answer['server_time']), ...aboutFirmware(answer['firmware'])]
  const { mqtt, websocket, activation } = answer
  if (isJsonObject(activation)) findings.push(good('A stranger: it shows a code and waits until somebody approves it.'))
  // A device that is given both sections uses MQTT.
  if (isJsonObject(mqtt)) {
    if (isJsonObject(websocket))
      findings.push(doubt('Both sections are present: the device uses MQTT and ignores the other.'))
    return examineMqtt(mqtt, findings)
  }
  if (isJsonObject(websocket)) return examineWebSocket(websocket, findings)
  if (isJsonObject(activation)) return { target: { kind: 'activation', code: text(activation['code']) }, findings }
  findings.push(
    problem('Neither websocket nor mqtt: the device falls back to the MQTT settings it had before, if any.'),
  )
  return { target: { kind: 'nothing' }, findings }
}

function examineWebSocket(section: JsonObject, findings: DoctorFinding[]): OtaDiagnosis {
  const url = text(section['url'])
  if (typeof section['token'] !== 'string')
    findings.push(doubt('No token: the device keeps using the one it had before.'))
  // Parses as the firmware does: scheme, host up to the first colon, port up to the slash.
  const parts = /^(wss?):\/\/([^:/]+):(\d{1,5})(\/.*)$/.exec(url)
  if (parts === null) {
    findings.push(
      problem(`${url || 'An empty address'} is not one a device understands: ws://host:port/path, with the port.`),
    )
    return { target: { kind: 'nothing' }, findings }
  }
  const [, scheme, host = '', port] = parts
  findings.push(...aboutHost(host))
  if (scheme === 'wss' && isPrivate(host))
    findings.push(problem(`wss to ${host}: a device checks certificates against public roots and trusts no other.`))
  return { target: { kind: 'websocket', url, host, port: Number(port) }, findings }
}

function examineMqtt(section: JsonObject, findings: DoctorFinding[]): OtaDiagnosis {
  const [host = '', port = '8883'] = text(section['endpoint']).split(':')
  for (const key of ['client_id', 'username', 'password', 'publish_topic'])
    if (typeof section[key] !== 'string')
      findings.push(problem(`mqtt.${key} is missing: the device keeps its old value.`))
  if (host === '') {
    findings.push(problem('mqtt.endpoint is empty.'))
    return { target: { kind: 'nothing' }, findings }
  }
  findings.push(...aboutHost(host))
  if (port === '8883' && isPrivate(host))
    findings.push(problem(`Port 8883 makes the device use TLS, and it trusts no certificate of ${host}.`))
  return { target: { kind: 'mqtt', host, port: Number(port) }, findings }
}

function aboutHost(host: string): readonly DoctorFinding[] {
  if (isLoopback(host))
    return [problem(`${host} is this machine: no device can reach it. Ask at the address that devices use.`)]
  if (host === '0.0.0.0') return [problem('0.0.0.0 is not an address to connect to.')]
  if (/^172\.(?:1[7-9]|2\d|3[01])\./.test(host))
    return [doubt(`${host} looks like an address inside Docker, which devices cannot reach.`)]
  if (!host.includes('.')) return [doubt(`${host} has no domain: a device may not find it by this name.`)]
  return [good(`The device is sent to ${host}.`)]
}

function isPrivate(host: string): boolean {
  return /^(?:10|127)\.|^192\.168\.|^172\.(?:1[6-9]|2\d|3[01])\./.test(host) || host.endsWith('.local')
}

function aboutTime(value: Json | undefined): readonly DoctorFinding[] {
  if (!isJsonObject(value)) return [doubt('No server_time: the clock on the device will be wrong.')]
  const offset = value['timezone_offset']
  if (typeof offset === 'number' && Math.abs(offset) > 14 * 60)
    return [problem(`timezone_offset is ${offset}: it counts in minutes.`)]
  return []
}

function aboutFirmware(value: Json | undefined): readonly DoctorFinding[] {
  if (!isJsonObject(value)) return []
  const version = text(value['version'])
  if (!/^\d+(?:\.\d+)*$/.test(version))
    return [problem(`firmware.version "${version}" is not dotted numbers: reading it makes the device restart.`)]
  const url = text(value['url'])
  if (url === '')
    return [doubt(`firmware.version ${version} without a url: an older device tries to flash from nowhere.`)]
  return [doubt(`A device older than ${version} will flash itself from ${url}.`)]
}

function text(value: Json | undefined): string {
  return typeof value === 'string' ? value : ''
}
