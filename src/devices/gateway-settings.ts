/**
 * Gateway settings: the configuration of the devices listener, key by key, in the words of those who work by it.
 *
 * Pure.
 */
import type { DevicesConfig } from '../config/devices.ts'
import { httpAddress } from '../core/http-address.ts'
import type { GatewayOptions } from './enrol/gateway-server.ts'
import type { ToolTimes } from './session/tool-time.ts'
import { DEFAULT_TOOL_TIMES } from './session/tool-time.ts'
import type { UrlRule } from './tools/url-rule.ts'
import { parseUrlRule } from './tools/url-rule.ts'

type GatewaySettings = Omit<GatewayOptions, 'database' | 'signingKey'>

/** What the configuration says about the gateway, in the gateway's words. */
export function gatewaySettings(config: DevicesConfig): GatewaySettings {
  const { host, port, publicUrl, mqtt, broker, transport, keepAliveSeconds, allowedOrigins, maxConnections } = config
  return {
    host,
    transport,
    httpPort: port,
    ...(publicUrl === undefined ? {} : { publicUrl }),
    ...(mqtt.enabled ? { mqtt: { port: mqtt.port, udpPort: mqtt.udpPort } } : {}),
    ...(broker === undefined ? {} : { broker: { ...broker, account: broker.account } }),
    fleet: {
      toolTimes: toolTimes(config),
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
export function otaUrl({ publicUrl, host, otaPath }: DevicesConfig, port: number): string {
  if (publicUrl !== undefined) return `${publicUrl.replace(/\/$/, '')}${otaPath}`
  return `${httpAddress(host, port)}${otaPath}`
}

/** A listener on the loopback, with nobody in front of it, is for virtual devices. */
export function isLocalOnly({ publicUrl, host }: DevicesConfig): boolean {
  return publicUrl === undefined && (host === 'localhost' || host === '::1' || host.startsWith('127.'))
}

export function toolTimes({ toolSeconds }: DevicesConfig): ToolTimes {
  const byTool = Object.fromEntries(Object.entries(toolSeconds).map(([tool, seconds]) => [tool, seconds * 1_000]))
  return { ...DEFAULT_TOOL_TIMES, byTool }
}

/** The configuration has checked their form. */
export function urlRules({ urls }: DevicesConfig): readonly UrlRule[] {
  return urls.map((text) => {
    const rule = parseUrlRule(text)
    if (rule === undefined) throw new Error(`devices.urls: ${text} is not an address that can be allowed`)
    return rule
  })
}

export function troubleText(error: unknown, { host, port, mqtt }: DevicesConfig): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  const ports = mqtt.enabled ? `${port}, or ${mqtt.port} for MQTT,` : String(port)
  if (code === 'EADDRINUSE')
    return `Port ${ports} belongs to another program. Stop that, or set devices.port and devices.mqtt.port.`
  if (code === 'EADDRNOTAVAIL') return `devices.host is ${host}, which is no address of this machine.`
  if (code === 'EACCES') return `Port ${ports} may only be used by root. Set devices.port to one above 1023.`
  return `The listener for devices cannot be opened: ${error instanceof Error ? error.message : String(error)}.`
}
