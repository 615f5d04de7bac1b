/**
 * Pending devices resource: the devices that wait for approval with a code, for admins. Each change is announced.
 *
 *   devices://waiting   { waiting: [{ code, id, board, … }], ota }
 *
 * Only admins see and read it: a reader who knows a code could persuade a person to approve it, and the waiting devices
 * chose their own names. Other callers only learn how many there are, from the family's health.
 *
 * Pure, given the running devices service.
 */
import { z } from 'zod'
import type { Capability } from '../../bus/capability.ts'
import { defineTool } from '../../bus/capability-definition.ts'
import type { JsonObject } from '../../core/json.ts'
import { ok } from '../../core/result.ts'
import type { PendingDevice } from '../enrol/enrolment.ts'
import type { RunningDevicesAccess } from './running-devices-service.ts'
import { withRunningDevicesService } from './running-devices-service.ts'
import { ADMIN_RESOURCE_OFFER_DEFAULTS } from './visibility.ts'
import { sanitizeLine } from '../../core/untrusted-text.ts'
import { formatIsoTimeOrNull } from '../../toolbox/iso-time.ts'

export const PENDING_DEVICES_URI = 'devices://waiting'

export const pendingDeviceSchema = z.object({
  code: z.string(),
  id: z.string(),
  client_id: z.string(),
  board: z.string(),
  firmware: z.string(),
  address: z.string(),
  since: z.string().nullable(),
  expires: z.string().nullable(),
  replaces: z.boolean().describe('A device of this address is enrolled already, with another UUID.'),
})

const waiting = defineTool({
  ...ADMIN_RESOURCE_OFFER_DEFAULTS,
  name: 'devices.resource.waiting',
  title: 'Devices at the door',
  description:
    'Devices that ask to be let in, with the code that each shows. Subscribers hear when one comes, is let in or gives up.',
  face: { kind: 'resource', uri: PENDING_DEVICES_URI, mimeType: 'application/json' },
  output: z.object({ waiting: z.array(pendingDeviceSchema), ota: z.string().describe('What to type into a device.') }),
})

export function createPendingDevicesResource(parts: RunningDevicesAccess): Capability {
  return waiting.handledBy(() =>
    withRunningDevicesService(parts, ({ gateway, otaUrl }) =>
      ok({ data: { waiting: gateway.registrar.pending().map(toPendingDeviceJson), ota: otaUrl } }),
    ),
  )
}

export function toPendingDeviceJson(device: PendingDevice): JsonObject {
  return {
    code: device.code,
    id: device.deviceId,
    client_id: device.clientId,
    board: sanitizeLine(device.board, 64),
    firmware: sanitizeLine(device.firmware, 64),
    address: device.remoteAddress,
    since: formatIsoTimeOrNull(device.sinceMs),
    expires: formatIsoTimeOrNull(device.expiresAtMs),
    replaces: device.replaces,
  }
}
