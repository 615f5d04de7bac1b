/**
 * Backend tool calls: what a voice backend wants of a device's tools, through the same gate as everybody's calls.
 *
 *   tools/call of the backend ▸ device.<slug>.<tool> as `voice-backend:<slug>` ▸ an answer that can be spoken
 *
 * Backends lose the text of a result that is an error, so a refusal is told as text. A tool that is user-only, withheld or
 * unknown is not on offer for a backend, whatever it was told by the device's own list.
 *
 * Pure, given the bus.
 */
import type { Caller, Outcome } from '../../bus/call.ts'
import type { CapabilityBus } from '../../bus/bus.ts'
import type { Fault } from '../../core/fault.ts'
import type { Json, JsonObject } from '../../core/json.ts'
import type { VoiceRpcAnswer } from '../voice/voice-relay-client.ts'
import type { DeviceToolDependencies } from './running-devices.ts'

/** Backends wait for 30 s. */
const BACKEND_PATIENCE_MS = 28_000

const PRINCIPAL = 'voice-backend:'

export function isVoiceBackend(caller: Caller): boolean {
  return caller.kind === 'principal' && caller.id.startsWith(PRINCIPAL)
}

export function createBackendToolCaller({
  house,
  bus,
}: DeviceToolDependencies & { readonly bus: Pick<CapabilityBus, 'call'> }) {
  return async (deviceId: string, name: string, args: JsonObject): Promise<VoiceRpcAnswer> => {
    const device = house()?.roster.find(deviceId)
    const tool = device?.tools.find((each) => each.tool.name === name)
    if (device === undefined || tool === undefined)
      return spokenAnswer(`The tool ${name.slice(0, 64)} is not on offer here.`)
    const outcome = await bus.call(tool.capability, undefined, args, {
      caller: { kind: 'principal', id: `${PRINCIPAL}${device.slug}`, role: 'agent' },
      channel: 'access-point',
      timeoutMs: BACKEND_PATIENCE_MS,
    })
    return outcomeAnswer(outcome)
  }
}

function outcomeAnswer(outcome: Outcome): VoiceRpcAnswer {
  if (!outcome.ok) return spokenAnswer(refusal(outcome.fault))
  const { data, content } = outcome.value
  const items = content ?? [{ type: 'text', text: JSON.stringify(data) }]
  return { result: { content: items as unknown as Json, isError: false } }
}

function refusal({ kind, message }: Fault): string {
  if (kind === 'approval-required') return `I have asked you to confirm this first. ${message}`
  return message
}

function spokenAnswer(text: string): VoiceRpcAnswer {
  return { result: { content: [{ type: 'text', text }], isError: false } }
}
