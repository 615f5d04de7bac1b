/**
 * OTA endpoint: the one address that a person types into a device. The device gets all other settings from here.
 *
 *   GET  /xiaozhi/ota/            a line of text, for people and monitors
 *   POST /xiaozhi/ota/            what to connect to, or the code to show
 *   POST /xiaozhi/ota/activate    200 approved, 202 not yet
 *
 * A device that gets no 200 waits and asks again, ten times with growing pauses, and then falls back to settings it may
 * never have had; so the answer is quick, and an error of ours is answered with a status that makes the device try
 * again.
 *
 * Pure, given the registrar.
 */
import { fromUtf8 } from '../../core/bytes.ts'
import type { Clock } from '../../core/clock.ts'
import type { DeviceAdmissionRefusalListener } from '../session/device-admission-refusal.ts'
import { decodeActivateRequest, decodeOtaRequest, encodeOtaAnswer } from '../wire/ota.ts'
import type { VoiceBackendCredentialsClient } from '../voice/backend-credentials-client.ts'
import type { DeviceEnrolmentService } from './enrolment.ts'
import type { DeviceHttpAnswer, DeviceHttpHandler } from './http-exchange.ts'
import { createDeviceJsonAnswer, createDeviceTextAnswer } from './http-exchange.ts'

export interface OtaEndpointOptions {
  readonly registrar: DeviceEnrolmentService
  readonly clock: Clock
  /** Minutes east of UTC at the given moment, for the clock on the device's screen. */
  readonly timezoneMinutes: (nowMs: number) => number
  readonly onRefused: DeviceAdmissionRefusalListener
  /** A voice backend to which the devices' OTA requests are passed on. */
  readonly backend: Pick<VoiceBackendCredentialsClient, 'request' | 'activate'> | undefined
}

/** Marks a request of the doctor: it gets the real answer without its secrets, and nothing is recorded. */
export const DOCTOR_REQUEST_HEADER = 'hearthbus-doctor'

/** Devices send about 2 kB, partition tables included. */
const MAX_BODY = 32_768

export function createOtaHandler({
  registrar,
  clock,
  timezoneMinutes,
  backend,
}: OtaEndpointOptions): DeviceHttpHandler {
  return async (request) => {
    if (request.method === 'GET')
      return createDeviceTextAnswer(200, 'Hearthbus: the OTA endpoint works. Devices ask it with POST.')
    if (request.method !== 'POST') return createDeviceTextAnswer(405, 'GET or POST')
    const body = await request.body(MAX_BODY)
    if (body === undefined) return tooLarge()
    // The name of a Wi-Fi may be in any encoding, so a body that is not UTF-8 does not make the request invalid.
    const text = new TextDecoder().decode(body)
    const decoded = decodeOtaRequest(request.headers, text)
    if (!decoded.ok) return createDeviceJsonAnswer(400, { error: decoded.fault.problem })
    const nowMs = clock.now()
    const time = { nowMs, timezoneMinutes: timezoneMinutes(nowMs) }
    if (request.headers[DOCTOR_REQUEST_HEADER] !== undefined)
      return createDeviceJsonAnswer(200, encodeOtaAnswer(registrar.preview(decoded.value, request), time))
    try {
      const settings = await registrar.ota(decoded.value, request)
      const answer = encodeOtaAnswer(settings, time)
      if (backend === undefined || settings.kind === 'nothing' || settings.kind === 'activation')
        return createDeviceJsonAnswer(200, answer)
      // The device is enrolled here. If its voice backend demands an activation, that is passed on; a backend that
      // cannot be reached does not delay the device.
      const wanted = await backend.request(decoded.value, request.headers, text).catch(() => undefined)
      const activation = wanted === undefined ? {} : { activation: { ...wanted, timeout_ms: 30_000 } }
      return createDeviceJsonAnswer(200, { ...answer, ...activation })
    } catch {
      // The disk refused to record a token, so none may be issued.
      return createDeviceJsonAnswer(429, { error: 'try again' })
    }
  }
}

export function createActivateHandler({ registrar, onRefused, backend }: OtaEndpointOptions): DeviceHttpHandler {
  return async (request) => {
    if (request.method !== 'POST') return createDeviceTextAnswer(405, 'POST')
    const body = await request.body(MAX_BODY)
    if (body === undefined) return tooLarge()
    const decoded = decodeActivateRequest(request.headers, fromUtf8(body) ?? '')
    if (!decoded.ok) return createDeviceJsonAnswer(400, { error: decoded.fault.problem })
    const outcome = registrar.activate(decoded.value)
    if (outcome === 'activated') return createDeviceJsonAnswer(200, { message: 'activated' })
    if (outcome === 'not-yet') return createDeviceJsonAnswer(202, { message: 'waiting for approval' })
    const passed = await backend?.activate(decoded.value, request.headers, fromUtf8(body) ?? '').catch(() => 202)
    if (passed !== undefined)
      return createDeviceJsonAnswer(passed === 200 || passed === 202 ? passed : 400, {
        message: 'the voice backend answered',
      })
    const { deviceId } = decoded.value
    onRefused({ door: 'http', why: 'no-activation', deviceId, remoteAddress: request.remoteAddress })
    return createDeviceJsonAnswer(404, { error: 'nothing to activate' })
  }
}

function tooLarge(): DeviceHttpAnswer {
  return createDeviceJsonAnswer(413, { error: `at most ${MAX_BODY} bytes` })
}
