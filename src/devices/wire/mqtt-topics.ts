/**
 * MQTT topics: which topic of the owner's broker belongs to which device.
 *
 *   devices/up/{device}                       {device} is the MAC with underscores
 *   /p2p/device_public/{client}               {client} is the MQTT client id, <group>@@@<mac>@@@<uuid>
 *
 * A template has one placeholder, which is a whole level of the topic.
 */
import { formatDeviceIdForTopic, parseDeviceId } from './device-id.ts'
import { formatMqttClientId } from './mqtt-identity.ts'

const PLACEHOLDER = /^\{(?:device|client)\}$/

export interface TopicTemplate {
  readonly levels: readonly string[]
  readonly at: number
}

/** Throws on text that is not a template; the configuration schema checks templates with this function. */
export function parseTopicTemplate(text: string): TopicTemplate {
  const levels = text.split('/')
  const at = levels.findIndex((level) => PLACEHOLDER.test(level))
  const rest = levels.toSpliced(at, 1)
  if (at < 0 || rest.some((level) => /[{}+#]/.test(level)))
    throw new RangeError(`${text}: a topic template has one level {device} or {client} and no wildcards`)
  return { levels, at }
}

export function formatFilterForAllDevices({ levels, at }: TopicTemplate): string {
  return levels.with(at, '+').join('/')
}

export function formatTopicForDevice(
  { levels, at }: TopicTemplate,
  identity: { readonly deviceId: string; readonly clientId: string },
): string {
  const filling = levels[at] === '{device}' ? formatDeviceIdForTopic(identity.deviceId) : formatMqttClientId(identity)
  return levels.with(at, filling).join('/')
}

export function parseDeviceFromTopic({ levels, at }: TopicTemplate, topic: string): string | undefined {
  const received = topic.split('/')
  if (received.length !== levels.length || levels.some((level, index) => index !== at && received[index] !== level))
    return undefined
  const filling = received[at] ?? ''
  return parseDeviceId(levels[at] === '{device}' ? filling : (filling.split('@@@')[1] ?? ''))
}
