/** Device gateway: a gateway in this process that lets devices in, for benches whose devices are in others. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Caller } from '../src/bus/call.ts'
import type { Service } from '../src/bus/capability.ts'
import { parseConfig } from '../src/config/config-file.ts'
import type { JsonObject } from '../src/core/json.ts'
import { isJsonObject } from '../src/core/json.ts'
import { createLogger } from '../src/core/logger.ts'
import { startGateway } from '../src/main.ts'
import type { Gateway } from '../src/main.ts'

const OWNER: Caller = { kind: 'principal', id: 'owner', role: 'admin' }

export interface DeviceGateway {
  readonly gateway: Gateway
  /** The data of the answer, or the kind of its fault. */
  readonly call: (name: string, body: JsonObject) => Promise<JsonObject>
  /** How many devices are. */
  readonly online: () => Promise<number>
  readonly stop: () => Promise<void>
}

/** `devices` are the members of that section beside the ones that every bench needs. */
export async function startDeviceGateway(
  devices: string,
  { sections = '', services = [] }: { readonly sections?: string; readonly services?: readonly Service[] } = {},
): Promise<DeviceGateway> {
  const dataRoot = mkdtempSync(join(tmpdir(), 'hearthbus-bench-devices-'))
  const section = `devices: { enabled: true, host: 127.0.0.1, port: 0, ${devices} }\n`
  const config = parseConfig('bench', `logLevel: error\nlisten: { port: 0 }\n${section}${sections}`)
  if (!config.ok) throw new Error(JSON.stringify(config.fault))
  const started = await startGateway({
    config: config.value,
    dataRoot,
    pinned: false,
    version: 'bench',
    logger: createLogger('error'),
    listen: true,
    services: () => services,
  })
  if (!started.ok) throw new Error(started.fault.message)
  const gateway = started.value
  const call = async (name: string, body: JsonObject): Promise<JsonObject> => {
    const outcome = await gateway.bus.call(name, undefined, body, { caller: OWNER, channel: 'api' })
    if (!outcome.ok) return { fault: outcome.fault.kind }
    return isJsonObject(outcome.value.data) ? outcome.value.data : {}
  }
  return {
    gateway,
    call,
    online: async () => Number((await call('devices.list', { online: true, limit: 1 }))['total']),
    stop: async () => {
      await gateway.stop()
      rmSync(dataRoot, { recursive: true })
    },
  }
}

export function say(text: string): void {
  process.stdout.write(`${text}\n`)
}
