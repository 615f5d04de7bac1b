/**
 * Refused devices resource: the clients that were refused lately, for admins. Each change is announced.
 *
 *   devices://refused   { refused: [{ device, why, sentence, address, count, … }] }
 *
 * For admins only: it contains devices, addresses and unverified claims, which models must not read.
 *
 * Pure, given the running devices service.
 */
import { z } from 'zod'
import type { Capability } from '../../bus/capability.ts'
import { defineTool } from '../../bus/capability-definition.ts'
import type { JsonObject } from '../../core/json.ts'
import { ok } from '../../core/result.ts'
import { formatIsoTimeOrNull } from '../../toolbox/iso-time.ts'
import type { DeviceAdmissionRefusalReason } from '../session/device-admission-refusal.ts'
import type { CountedDeviceAdmissionRefusal } from './device-admission-refusal-log.ts'
import type { RunningDevicesService, RunningDevicesAccess } from './running-devices-service.ts'
import { withRunningDevicesService } from './running-devices-service.ts'
import { ADMIN_RESOURCE_OFFER_DEFAULTS } from './visibility.ts'

export const REFUSED_DEVICES_URI = 'devices://refused'

export const refusedDeviceSchema = z.object({
  device: z.string().nullable().describe('The device of this house that they claimed to be; null for a stranger.'),
  id: z.string().nullable(),
  door: z.enum(['websocket', 'mqtt', 'http']),
  why: z.string(),
  sentence: z.string(),
  address: z.string(),
  count: z.int(),
  first: z.string().nullable(),
  last: z.string().nullable(),
})

const refused = defineTool({
  ...ADMIN_RESOURCE_OFFER_DEFAULTS,
  name: 'devices.resource.refused',
  title: 'Turned away',
  description:
    'Who was not let in during the last day: with no or wrong credentials, a spent token, or from a web page elsewhere. Subscribers hear when somebody is turned away.',
  face: { kind: 'resource', uri: REFUSED_DEVICES_URI, mimeType: 'application/json' },
  output: z.object({ refused: z.array(refusedDeviceSchema) }),
})

export function createRefusedDevicesResource(parts: RunningDevicesAccess): Capability {
  return refused.handledBy(() =>
    withRunningDevicesService(parts, (service) => ok({ data: { refused: toRefusedDevicesJson(service) } })),
  )
}

export function toRefusedDevicesJson(service: RunningDevicesService): readonly JsonObject[] {
  return service.refused().map((refusal) => refusalJson(service, refusal))
}

function refusalJson({ gateway, store }: RunningDevicesService, refusal: CountedDeviceAdmissionRefusal): JsonObject {
  const { deviceId, door, why, remoteAddress, count, firstMs, lastMs } = refusal
  const enrolled = deviceId === undefined ? undefined : gateway.registrar.device(deviceId)
  const device = enrolled === undefined ? undefined : store.slug(enrolled.deviceId)
  return {
    device: device ?? null,
    id: deviceId ?? null,
    door,
    why,
    sentence:
      enrolled?.state === 'revoked'
        ? `${SENTENCE_BY_DEVICE_REFUSAL[why]} It was revoked.`
        : SENTENCE_BY_DEVICE_REFUSAL[why],
    address: remoteAddress,
    count,
    first: formatIsoTimeOrNull(firstMs),
    last: formatIsoTimeOrNull(lastMs),
  }
}

const SENTENCE_BY_DEVICE_REFUSAL: Readonly<Record<DeviceAdmissionRefusalReason, string>> = {
  'foreign-origin': 'A web page from another site tried to connect as a device.',
  'no-identity': 'A client connected without saying which device it is.',
  'no-credentials': 'A client connected without credentials.',
  'wrong-credentials': 'A client connected with credentials that are not the device’s, or no longer.',
  'no-activation': 'A client asked about an activation that is over or was never begun.',
  'wrong-picture-token': 'A client posted a picture with a token that is spent or another device’s.',
}
