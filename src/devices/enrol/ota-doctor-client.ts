/**
 * OTA doctor: sends a device's OTA request, and tries to connect as the device would with the answer.
 *
 *   GET ota ▸ POST ota as this device ▸ diagnose ▸ TCP
 *     ▸ an upgrade or CONNECT without credentials, which must be refused
 *
 * A Hearthbus leaves the secrets in its answer blank and does not add the device to the waiting list; it counts the
 * connection attempts as refusals of a client without credentials. For another server it is an ordinary request.
 */
import { connect } from 'node:net'
import { toHex } from '../../core/bytes.ts'
import type { DoctorFinding } from '../../core/doctor-finding.ts'
import type { Json, JsonObject } from '../../core/json.ts'
import { isJsonObject } from '../../core/json.ts'
import { readResponseText } from '../../toolbox/response-body.ts'
import type { DeviceIdentity } from '../session/fleet.ts'
import { encodeMqttConnect } from '../wire/mqtt-broker-packet.ts'
import type { DeviceConnectionTarget } from './ota-diagnosis.ts'
import { diagnoseOtaAnswer } from './ota-diagnosis.ts'
import { DOCTOR_REQUEST_HEADER } from './ota-endpoint.ts'

export interface OtaExaminationOptions {
  readonly otaUrl: string
  readonly identity: DeviceIdentity
  readonly timeoutMs?: number
}

export interface OtaReport {
  readonly answer: JsonObject | undefined
  readonly findings: readonly DoctorFinding[]
  /** True if no problem was found that prevents the device from connecting. */
  readonly healthy: boolean
}

const TIMEOUT_MS = 5_000
const MAX_ANSWER_BYTES = 65_536

export async function examineOta({
  otaUrl,
  identity,
  timeoutMs = TIMEOUT_MS,
}: OtaExaminationOptions): Promise<OtaReport> {
  const answer = await requestAsDevice(otaUrl, identity, timeoutMs)
  if (typeof answer === 'string') return report(undefined, [toFinding('fail', answer)])
  const { target, findings } = diagnoseOtaAnswer(answer)
  return report(answer, [...findings, ...(await reach(target, timeoutMs))])
}

function toFinding(level: DoctorFinding['level'], sentence: string): DoctorFinding {
  return { level, about: 'device', sentence }
}

function report(answer: JsonObject | undefined, findings: readonly DoctorFinding[]): OtaReport {
  return { answer, findings, healthy: !findings.some(({ level }) => level === 'fail') }
}

/** The answer, or a sentence about why there is none. */
async function requestAsDevice(
  otaUrl: string,
  identity: DeviceIdentity,
  timeoutMs: number,
): Promise<JsonObject | string> {
  try {
    const response = await fetch(otaUrl, {
      method: 'POST',
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutMs),
      headers: {
        'Activation-Version': '1',
        'Device-Id': identity.deviceId,
        'Client-Id': identity.clientId,
        'User-Agent': 'hearthbus-doctor/1',
        'Content-Type': 'application/json',
        [DOCTOR_REQUEST_HEADER]: '1',
      },
      body: JSON.stringify({ version: 2, mac_address: identity.deviceId, uuid: identity.clientId }),
    })
    const body = await readResponseText(response, MAX_ANSWER_BYTES)
    if (response.status !== 200) return `${otaUrl} answered ${response.status}; a device takes nothing but 200.`
    if (body === undefined) return `${otaUrl} answered more than a device can hold.`
    const value = JSON.parse(body) as Json
    return isJsonObject(value) ? value : `${otaUrl} answered JSON that is not an object.`
  } catch (error) {
    if (error instanceof SyntaxError) return `${otaUrl} answered something that is not JSON.`
    return `${otaUrl} did not answer: ${reason(error)}.`
  }
}

async function reach(target: DeviceConnectionTarget, timeoutMs: number): Promise<readonly DoctorFinding[]> {
  if (target.kind === 'websocket') return tryWebSocket(target, timeoutMs)
  if (target.kind === 'mqtt') return tryMqtt(target, timeoutMs)
  return []
}

async function tryWebSocket(target: Extract<DeviceConnectionTarget, { kind: 'websocket' }>, timeoutMs: number) {
  const path = target.url.replace(/^wss?:\/\/[^/]+/, '')
  const upgrade = `GET ${path} HTTP/1.1\r\nHost: ${target.host}\r\nConnection: Upgrade\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\nUpgrade: websocket\r\n\r\n`
  const reply = await talk(target, Buffer.from(upgrade), { timeoutMs, enough: 'HTTP/1.1 401'.length })
  if (!reply.ok) return [unreachable(target, reply.why)]
  const status = /^HTTP\/1\.1 (\d{3})/.exec(reply.bytes.toString('latin1'))?.[1]
  return [verdict(target, { refused: status === '401' || status === '403', welcome: status === '101' })]
}

async function tryMqtt(target: Extract<DeviceConnectionTarget, { kind: 'mqtt' }>, timeoutMs: number) {
  const opening = encodeMqttConnect({ clientId: 'doctor', username: 'x', password: 'x', keepAliveSeconds: 60 })
  const reply = await talk(target, opening, { timeoutMs, enough: 4 })
  if (!reply.ok) return [unreachable(target, reply.why)]
  const connack = toHex(reply.bytes.subarray(0, 4))
  return [verdict(target, { refused: /^200200(?:04|05)$/.test(connack), welcome: connack === '20020000' })]
}

interface Address {
  readonly host: string
  readonly port: number
}

function verdict({ host, port }: Address, { refused, welcome }: { refused: boolean; welcome: boolean }): DoctorFinding {
  if (refused) return toFinding('ok', `${host}:${port} answers, and lets nobody in without credentials.`)
  if (welcome) return toFinding('warn', `${host}:${port} lets anybody in, without credentials.`)
  return toFinding('fail', `${host}:${port} answers, but not as a backend for devices would.`)
}

function unreachable({ host, port }: Address, why: string): DoctorFinding {
  return toFinding('fail', `${host}:${port} cannot be reached from here: ${why}.`)
}

type ProbeReply = { readonly ok: true; readonly bytes: Buffer } | { readonly ok: false; readonly why: string }

interface Patience {
  readonly timeoutMs: number
  /** How many bytes are enough, because an answer may arrive in pieces. */
  readonly enough: number
}

/** Sends the opening bytes and returns the first bytes of the answer. */
function talk({ host, port }: Address, opening: Uint8Array, { timeoutMs, enough }: Patience): Promise<ProbeReply> {
  return new Promise((resolve) => {
    let bytes: Buffer = Buffer.alloc(0)
    const socket = connect({ host, port }, () => socket.write(opening))
    const end = (reply: ProbeReply) => {
      socket.destroy()
      resolve(reply)
    }
    socket.setTimeout(timeoutMs, () => end({ ok: false, why: 'no answer' }))
    socket.on('data', (chunk: Buffer) => {
      bytes = Buffer.concat([bytes, chunk])
      if (bytes.length >= enough) end({ ok: true, bytes })
    })
    socket.once('error', (error) => end({ ok: false, why: reason(error) }))
    socket.once('close', () => end(bytes.length > 0 ? { ok: true, bytes } : { ok: false, why: 'it hung up' }))
  })
}

function reason(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
  return cause instanceof Error ? cause.message : 'unknown'
}
