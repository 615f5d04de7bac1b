/**
 * Device gateway settings: translates the configuration of the devices listener into the options of the modules that
 * use it.
 */
import type { DevicesConfig } from '../config/devices.ts'
import { formatHttpUrl } from '../core/http-address.ts'
import { isLoopback } from '../core/loopback.ts'
import { listDeviceListeners } from '../config/listeners.ts'
import { explainListenFault } from '../toolbox/listen-fault.ts'
import type { DeviceGatewayOptions } from './enrol/device-gateway-server.ts'
import type { ToolTimeouts } from './session/tool-timeout.ts'
import { DEFAULT_TOOL_TIMEOUTS } from './session/tool-timeout.ts'
import type { UrlRule } from './tools/url-rule.ts'
import { parseUrlRule } from './tools/url-rule.ts'

type GatewaySettings = Omit<DeviceGatewayOptions, 'database' | 'log' | 'signingKey'>

/** The gateway's options from the configuration. */
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
      pendingDevices: {
        places: Math.max(256, config.waitingPerAddress),
        placesPerAddress: config.waitingPerAddress,
        stayMs: 3_600_000,
      },
    },
    server: { otaPath: config.otaPath, allowedOrigins, maxConnections },
  }
}

/** The URL that a person types into a device; where none is configured, the one on this machine. */
export function formatOtaUrl({ publicUrl, host, otaPath }: DevicesConfig, port: number): string {
  if (publicUrl !== undefined) return `${publicUrl.replace(/\/$/, '')}${otaPath}`
  return `${formatHttpUrl(host, port)}${otaPath}`
}

/**
 * Whether only this machine reaches the listener, with no proxy in front of it; it then serves virtual devices only.
 */
export function isLoopbackOnlyListener({ publicUrl, host }: DevicesConfig): boolean {
  return publicUrl === undefined && isLoopback(host)
}

export function readToolTimeouts({ toolSeconds }: DevicesConfig): ToolTimeouts {
  const byTool = Object.fromEntries(Object.entries(toolSeconds).map(([tool, seconds]) => [tool, seconds * 1_000]))
  return { ...DEFAULT_TOOL_TIMEOUTS, byTool }
}

/** The configuration schema has checked the form of the rules. */
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
  // Only opening a UDP socket fails in `bind` instead of `listen`.
  const place = failed.syscall === 'bind' ? udp : failed.port === mqtt?.port ? mqtt : http
  return explainListenFault(error, place ?? http)
}

function systemError(error: unknown): NodeJS.ErrnoException & { readonly port?: number } {
  return error instanceof Error ? error : new Error(String(error))
}
