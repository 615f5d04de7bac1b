/**
 * Defined message write tool: writes a setting of a definition file and reads the message again afterwards.
 *
 * Pure, given its house.
 */
import { z } from 'zod'
import type { Capability } from '../../bus/capability.ts'
import { defineChange } from '../../bus/capability-definition.ts'
import type { Fault, PolicyReason } from '../../core/fault.ts'
import type { JsonObject } from '../../core/json.ts'
import { fail } from '../../core/result.ts'
import type { Result } from '../../core/result.ts'
import { busArgument, ebusIdempotencyKeyArgument } from './arguments.ts'
import { getBusDefinitions, createUnknownMessageFault } from './definition-lookup.ts'
import type { PlannedMessageWrite } from './defined-message-write.ts'
import { assessMessageWrite, planMessageWrite, writeDefinedMessage } from './defined-message-write.ts'
import { createEbusOutputSchema, ebusFamilyEnvelope } from './ebus-envelope.ts'
import type { EbusToolContext } from './ebus-tool-context.ts'
import {
  suggestMissingConfirmationArguments,
  MISSING_ALLOW_DANGEROUS_REASON,
  MISSING_INTENT_REASON,
  MISSING_IDEMPOTENCY_KEY_REASON,
  DANGEROUS_NOT_ALLOWED_REASON,
  toAssessmentConfirmation,
} from './change-confirmation-arguments.ts'
import { resolveBusLockKey, createLiveOutcome } from './ebus-tool-context.ts'

const word = z.string().trim().min(1).max(64)
const scalar = z.union([z.string().max(200), z.number(), z.boolean()])

const input = z.strictObject({
  circuit: word,
  name: word,
  field: word.exactOptional().describe('The field to change; the others keep the values that they have.'),
  value: z
    .union([scalar, z.record(z.string().max(64), scalar)])
    .describe('The value, by name where the field has named values; or several as {field: value}.'),
  intent: z.enum(['MUTATE']).exactOptional().describe('MUTATE; anything else changes nothing.'),
  allow_dangerous: z.boolean().exactOptional().describe('True: this changes something.'),
  idempotency_key: ebusIdempotencyKeyArgument.exactOptional(),
  bus: busArgument,
})
type WriteRequest = z.output<typeof input>

const values = z.record(z.string(), z.unknown()).nullable()

const words = {
  name: 'ebus.v1.messages.write',
  title: 'Write a message by definition',
  description:
    'Writes a setting that the owner’s definition files describe (ebus.v1.messages.find with writable) and reads it back. Needs intent MUTATE, allow_dangerous and an idempotency_key. Settings of the installer and of service, and what cannot be read back, also need a person’s approval.',
  input,
  output: createEbusOutputSchema(
    z.object({
      circuit: z.string(),
      name: z.string(),
      before: values.describe('What it was before; null when that is not known.'),
      written: values,
      read_back: values,
      confirmed: z.boolean().nullable().describe('Whether the device has it now; null when it cannot be asked.'),
    }),
  ),
  effect: 'writes',
  idempotent: false,
  family: ebusFamilyEnvelope,
  completeClaims: (
    { intent = null, allow_dangerous: dangerous = null, idempotency_key: key = null }: JsonObject,
    { traceId }: { readonly traceId: string },
  ): JsonObject => suggestMissingConfirmationArguments({ intent, dangerous, key }, traceId),
} as const

export function createDefinedMessageWriteTool(context: EbusToolContext): Capability {
  return defineChange({
    ...words,
    lock: (body: JsonObject): string => resolveBusLockKey(context, body),
    plan: (request) => plan(context, request),
    assess: (planned, request) => ({
      ...assessMessageWrite(planned),
      reasons: gateReasons(request),
      ...toAssessmentConfirmation(request),
    }),
    assessMistake: (request) => ({ reasons: gateReasons(request) }),
    act: async (planned, _request, call) => {
      const outcome = await writeDefinedMessage(planned, call)
      if (!outcome.ok) return outcome
      const { before, written, readBack, confirmed } = outcome.value
      const { circuit, name } = planned.message
      return createLiveOutcome(context, planned.heating, {
        circuit,
        name,
        before: before ?? null,
        written: written ?? null,
        read_back: readBack ?? null,
        confirmed: confirmed ?? null,
      })
    },
  })
}

function plan(context: EbusToolContext, request: WriteRequest): Result<PlannedMessageWrite, Fault> {
  const found = getBusDefinitions(context, request.bus)
  if (!found.ok) return found
  const message = found.value.definitions.named(request.circuit, request.name, 'write')
  if (message === undefined) return fail(createUnknownMessageFault(found.value.definitions, request))
  const { field, value } = request
  return planMessageWrite(found.value, message, field === undefined ? { value } : { field, value })
}

function gateReasons({
  intent,
  allow_dangerous: dangerous,
  idempotency_key: key,
}: Pick<WriteRequest, 'intent' | 'allow_dangerous'> & {
  readonly idempotency_key?: string | undefined
}): readonly PolicyReason[] {
  return [
    ...(intent === 'MUTATE' ? [] : [MISSING_INTENT_REASON]),
    ...(dangerous === true
      ? []
      : [dangerous === undefined ? MISSING_ALLOW_DANGEROUS_REASON : DANGEROUS_NOT_ALLOWED_REASON]),
    ...(key === undefined ? [MISSING_IDEMPOTENCY_KEY_REASON] : []),
  ]
}
