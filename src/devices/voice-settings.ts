/**
 * Voice settings: translates the configuration of the voice backend into the options of the clients that connect to it.
 */
import { expandUrlVariables } from '../config/access-points.ts'
import type { DevicesConfig } from '../config/devices.ts'
import type { VoiceOptions } from './enrol/device-gateway-server.ts'

type Environment = Readonly<Record<string, string | undefined>>

/**
 * Returns `undefined` without a backend. Throws where a variable is missing, so that no device connects with incomplete
 * settings.
 */
export function readVoiceBackendSettings(
  voice: DevicesConfig['voice'],
  environment: Environment,
): VoiceOptions['backend'] | undefined {
  const { mode, ota, url, token, mqtt } = voice
  if (mode === 'none') return undefined
  if (ota !== undefined) return { ota }
  if (url !== undefined) {
    const websocket = { url: expand(url, environment), token: decodeURIComponent(expand(token, environment)) }
    return { address: () => ({ kind: 'websocket', websocket }) }
  }
  if (mqtt === undefined) return undefined
  const account = {
    username: decodeURIComponent(expand(mqtt.username, environment)),
    password: decodeURIComponent(expand(mqtt.password, environment)),
  }
  return {
    address: ({ deviceId, clientId }) => ({
      kind: 'mqtt',
      mqtt: {
        ...account,
        endpoint: mqtt.endpoint,
        // One session per client id: the device itself must not be connected to the backend with the same id.
        clientId: mqtt.clientId.replace('{device}', deviceId.replaceAll(':', '_')).replace('{client}', clientId),
        publishTopic: mqtt.publishTopic,
        subscribeTopic: '',
      },
    }),
  }
}

function expand(text: string, environment: Environment): string {
  const expanded = expandUrlVariables(text, environment)
  if (!expanded.ok) throw new Error(`devices.voice needs the environment variable ${expanded.fault.missing}`)
  return expanded.value
}
