/**
 * Device classification client: reads how every device is classed, and why, directly from HomeSeer, without a running
 * gateway.
 *
 * It changes nothing.
 */
import { fail, ok, type Result } from '../core/result.ts'
import type { DeviceKind } from './catalog/device-classification.ts'
import { buildHomeseerDeviceCatalog } from './catalog/device-catalog-and-event-consequences.ts'
import { readJsonClientSettings, type HomeseerConfigWithUrl } from './connection-settings.ts'
import { adviseOnHomeseerLink } from './tools/link-health.ts'
import { toLoggableRequestOutcome, JsonClient } from './wire/json-client.ts'
import { createControlsRequest, createStatusRequest } from './wire/json-requests.ts'

export interface ClassifiedDevice {
  readonly ref: number
  readonly name: string
  readonly kind: DeviceKind
  readonly needsApproval: boolean
  readonly because: string
}

export async function classifyAllHomeseerDevices(
  config: HomeseerConfigWithUrl,
): Promise<Result<readonly ClassifiedDevice[], string>> {
  const { url, timeoutMs } = config
  const json = new JsonClient({
    ...readJsonClientSettings(config),
    readRetries: 1,
    readRetryBackoffMs: 200,
    allTriesMs: timeoutMs * 2,
    restMs: 0,
  })
  try {
    const status = await json.call(createStatusRequest({ compress: true, excludeEvents: true }))
    const controls = status.ok ? await json.call(createControlsRequest()) : status
    if (!status.ok || !controls.ok) {
      const last = toLoggableRequestOutcome(status.ok ? controls : status)
      return fail(adviseOnHomeseerLink(url, last) ?? `HomeSeer at ${url} refuses to be read.`)
    }
    const kinds = new Map(Object.entries(config.classes).map(([ref, kind]) => [Number(ref), kind]))
    const { devices } = buildHomeseerDeviceCatalog(status.value.devices, controls.value, kinds)
    return ok(
      devices.map(({ ref, name, kind, sensitivity, evidence }) => ({
        ref,
        name,
        kind,
        needsApproval: sensitivity.length > 0,
        because: evidence.join('; '),
      })),
    )
  } finally {
    json.close()
  }
}
