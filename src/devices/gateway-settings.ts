/**
 * Gateway settings: the configuration of the devices listener, key by key, in the words of those who work by it.
 */
import type { DevicesConfig } from '../config/devices.ts'
import { formatHttpAddress } from '../core/http-address.ts'
import { isLoopback } from '../core/loopback.ts'
import { listDeviceListeners } from '../config/listeners.ts'
import { explainListenFault } from '../toolbox/listen-fault.ts'
import type { DeviceGatewayOptions } from './enrol/gateway-server.ts'
import type { ToolTimeouts } from './session/tool-timeout.ts'
import { DEFAULT_TOOL_TIMEOUTS } from './session/tool-timeout.ts'
import type { UrlRule } from './tools/url-rule.ts'
import { parseUrlRule } from './tools/url-rule.ts'

type GatewaySettings = Omit<DeviceGatewayOptions, 'database' | 'log' | 'signingKey'>

/** What the configuration says about the gateway, in the gateway's words. */
export function readDeviceGatewaySettings(config: DevicesConfig): GatewaySettings {
  const { host, port, publicUrl, mqtt, broker, transport, keepAliveSeconds, allowedOrigins, maxConnections } = config
  return {
    host,
    transport: transport ?? (mqtt.enabled ? 'mqtt' : 'websocket'),
    httpPort: port,
    ...(publicUrl === undefined ? {} : { publicUrl }),
    ...(mqtt.enabled ? { mqtt: { port: mqtt.port, udpPort: mqtt.udpPort } } : {}),
    ...(broker === undefined ? {} : { broker: { ...broker, account: broker.account } }),
    fleet: {
      toolTimes: readToolTimeouts(config),
      settings: {
        withUserTools: config.userTools,
        keepAliveMs: keepAliveSeconds === 0 ? undefined : keepAliveSeconds * 1_000,
      },
    },
    registrar: {
      waitingRoom: {
        places: Math.max(256, config.waitingPerAddress),
        placesPerAddress: config.waitingPerAddress,
        stayMs: 3_600_000,
      },
    },
    server: { otaPath: config.otaPath, allowedOrigins, maxConnections },
  }
}

/** What is typed into a device; where nothing is configured, as seen from this machine. */
export function formatOtaUrl({ publicUrl, host, otaPath }: DevicesConfig, port: number): string {
  if (publicUrl !== undefined) return `${publicUrl.replace(/\/$/, '')}${otaPath}`
  return `${formatHttpAddress(host, port)}${otaPath}`
}

/** A listener on the loopback, with nobody in front of it, is for virtual devices. */
export function isLoopbackOnlyListener({ publicUrl, host }: DevicesConfig): boolean {
  return publicUrl === undefined && isLoopback(host)
}

export function readToolTimeouts({ toolSeconds }: DevicesConfig): ToolTimeouts {
  const byTool = Object.fromEntries(Object.entries(toolSeconds).map(([tool, seconds]) => [tool, seconds * 1_000]))
  return { ...DEFAULT_TOOL_TIMEOUTS, byTool }
}

/** The configuration has checked their form. */
export function readDeviceUrlRules({ urls }: DevicesConfig): readonly UrlRule[] {
  return urls.map((text) => {
    const rule = parseUrlRule(text)
    if (rule === undefined) throw new Error(`devices.urls: ${text} is not an address that can be allowed`)
    return rule
  })
}

/** Which of the three ports could not be opened, and why. */
export function explainDeviceListenFault(error: unknown, config: DevicesConfig): string {
  const failed = systemError(error)
  const [http, mqtt, udp] = listDeviceListeners(config)
  // Only the UDP socket is bound without listening.
  const place = failed.syscall === 'bind' ? udp : failed.port === mqtt?.port ? mqtt : http
  return explainListenFault(error, place ?? http)
}

function systemError(error: unknown): NodeJS.ErrnoException & { readonly port?: number } {
  return error instanceof Error ? error : new Error(String(error))
}
