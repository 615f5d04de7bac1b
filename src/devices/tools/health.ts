/**
 * Health: the health of the devices family, with advice.
 */
import type { ServiceHealth } from '../../bus/capability.ts'
import { isDeviceOnline } from './device-view.ts'
import type { RunningDevicesService } from './running-devices-service.ts'
import type { RosterDevice } from './device-roster.ts'

export interface DeviceListenerFacts {
  readonly host: string
  readonly port: number
  /** Why the listeners are not open. */
  readonly trouble: string | undefined
  /** The transports that the configuration opens. */
  readonly transports: readonly string[]
  /** How many devices a person spoke to although there is no voice backend. */
  readonly unansweredCount: number
}

export const BROKER_GONE_ADVICE = 'The MQTT broker cannot be reached: check devices.broker.url and its account.'

export const KEEP_DEVICE_ON_VOICE_BACKEND_HINT =
  'A device that connects here has left its voice backend. Leave it there and give the backend tools (accessPoints), or pass its voice on (devices.voice): docs/voice.md.'

export function reportDevicesHealth(
  service: RunningDevicesService | undefined,
  facts: DeviceListenerFacts,
): ServiceHealth {
  if (service === undefined)
    return {
      status: 'failing',
      details: {
        advice: facts.trouble ?? 'The listener for devices is not open yet.',
        host: facts.host,
        port: facts.port,
      },
    }
  const { gateway, roster } = service
  const devices = roster.devices()
  const withheld = devices.filter((device) => device.withheld.length > 0)
  const pending = gateway.registrar.pending().length
  const refused = service.refused().reduce((sum, { count }) => sum + count, 0)
  const { pendingCalls } = gateway.fleet.stats()
  const brokerGone = facts.transports.includes('mqtt-broker') && !gateway.brokerConnected()
  const shutOut = devices.find(({ enrolled }) => !facts.transports.includes(enrolled.transport))
  const advice = adviceFor({ brokerGone, shutOut, withheld: withheld.map(({ slug }) => slug), pending, ...facts })
  return {
    status: brokerGone || shutOut !== undefined || withheld.length > 0 ? 'degraded' : 'ok',
    details: {
      enrolled: devices.length,
      online: devices.filter((device) => isDeviceOnline(service, device)).length,
      waiting: pending,
      refused,
      calls: pendingCalls,
      unheard: facts.unansweredCount,
      port: gateway.httpPort,
      ...(gateway.mqttPort === undefined ? {} : { mqtt_port: gateway.mqttPort }),
      ...(advice === undefined ? {} : { advice }),
    },
  }
}

function adviceFor(facts: {
  readonly brokerGone: boolean
  readonly shutOut: RosterDevice | undefined
  readonly withheld: readonly string[]
  readonly pending: number
  readonly unansweredCount: number
}): string | undefined {
  const { brokerGone, shutOut, withheld, pending, unansweredCount } = facts
  if (brokerGone) return BROKER_GONE_ADVICE
  if (shutOut !== undefined) {
    const { slug, enrolled } = shutOut
    const key = enrolled.transport === 'mqtt' ? 'devices.mqtt.enabled' : 'devices.broker'
    return `${slug} was let in over ${enrolled.transport}, which is switched off: set ${key}, or let it in again after hearthbus devices forget ${slug}.`
  }
  const [first] = withheld
  if (first !== undefined)
    return `Tools of ${withheld.join(', ')} are new or changed and are withheld. Look at them: hearthbus devices show ${first}.`
  if (pending > 0) return `${pending} waiting to be let in: hearthbus devices list.`
  if (unansweredCount > 0)
    return `Somebody spoke to a device, but no voice service is set up. ${KEEP_DEVICE_ON_VOICE_BACKEND_HINT}`
  return undefined
}
