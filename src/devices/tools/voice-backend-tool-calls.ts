/**
 * Voice backend tool calls: runs a voice backend's calls of a device's tools through the same stages as every other
 * call.
 *
 *   tools/call of the backend ▸ device.<slug>.<tool> as `voice-backend:<slug>` ▸ an answer that can be spoken
 *
 * Backends drop the text of a result that is an error, so a refusal is returned as text. A tool that is user-only,
 * withheld or unknown is not offered to a backend, even if the device's own list contains it.
 *
 * Pure, given the bus.
 */
import type { Caller, Outcome } from '../../bus/call.ts'
import type { CapabilityBus } from '../../bus/bus.ts'
import type { Fault } from '../../core/fault.ts'
import type { JsonObject } from '../../core/json.ts'
import { cutToJsonBytes } from '../../core/untrusted-text.ts'
import type { BackendRpcAnswer } from '../voice/voice-relay-client.ts'
import type { RunningDevicesAccess } from './running-devices-service.ts'

/** Backends wait for 30 s for an answer. */
const BACKEND_PATIENCE_MS = 28_000
/** Brokers of voice backends disconnect a device that sends a packet of more than 8,192 bytes. */
const MAX_ANSWER_BYTES = 7_000

const PRINCIPAL = 'voice-backend:'

export function isVoiceBackend(caller: Caller): boolean {
  return caller.kind === 'principal' && caller.id.startsWith(PRINCIPAL)
}

export function createToolCallerForVoiceBackend({
  service,
  bus,
}: RunningDevicesAccess & { readonly bus: Pick<CapabilityBus, 'call'> }) {
  return async (deviceId: string, name: string, args: JsonObject): Promise<BackendRpcAnswer> => {
    const device = service()?.roster.find(deviceId)
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

/** Backends read only the first text, and would read the base64 of a picture aloud. */
function outcomeAnswer(outcome: Outcome): BackendRpcAnswer {
  if (!outcome.ok) return spokenAnswer(refusal(outcome.fault))
  const { data, content } = outcome.value
  if (content === undefined) return spokenAnswer(JSON.stringify(data))
  const texts = content.flatMap((item) => (item.type === 'text' && typeof item.text === 'string' ? [item.text] : []))
  return spokenAnswer(texts.length > 0 ? texts.join('\n') : 'The picture was taken. It cannot be shown here.')
}

function refusal({ kind, message, details }: Fault): string {
  if (kind !== 'approval-required') return message
  const what = typeof details?.['label'] === 'string' ? `: ${details['label']}` : ''
  return `I have asked you to confirm this first${what}. Nothing was done yet. Once you agree, ask for the same again.`
}

function spokenAnswer(text: string): BackendRpcAnswer {
  return { result: { content: [{ type: 'text', text: cutToJsonBytes(text, MAX_ANSWER_BYTES) }], isError: false } }
}
