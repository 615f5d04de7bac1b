/**
 * Tolerant input: arguments that a tool does not know are left out and named in a warning, as callers of the contract's
 * first implementation rely on (ADR 164). What is left out reaches nothing: no handler, no adapter, no approval.
 *
 * Pure, but for a note about each body that lost something.
 */
import { z } from 'zod'
import type { Capability } from '../../bus/capability.ts'
import { isJsonObject, type JsonObject } from '../../core/json.ts'
import { ok } from '../../core/result.ts'

/** By the body itself, which goes through guard and handler as one object. */
const leftOut = new WeakMap<JsonObject, readonly string[]>()
const MAX_NAMED = 20

export function tolerantInput<Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  const known = z.object(shape)
  return z.looseObject(shape).transform((body): z.output<typeof known> => {
    const entries = Object.entries(body)
    const kept = Object.fromEntries(entries.filter(([name]) => Object.hasOwn(shape, name)))
    const unknown = entries.map(([name]) => name).filter((name) => !Object.hasOwn(shape, name))
    if (unknown.length > 0) leftOut.set(kept as JsonObject, unknown.slice(0, MAX_NAMED))
    return kept as z.output<typeof known>
  })
}

/** The same capability, whose answers name the arguments that were ignored. */
export function withIgnoredArguments(capability: Capability): Capability {
  if (!('handle' in capability)) return capability
  const { offer, handle } = capability
  return {
    offer,
    handle: async (call) => {
      const outcome = await handle(call)
      const ignored = leftOut.get(call.body)
      if (ignored === undefined || !outcome.ok || !isJsonObject(outcome.value.data)) return outcome
      const { warnings } = outcome.value.data
      const warning = {
        code: 'UNKNOWN_ARGUMENTS',
        message: `Ignored, because ${offer.name} does not know them: ${ignored.join(', ')}.`,
        arguments: ignored,
      }
      const all = [...(Array.isArray(warnings) ? (warnings as readonly JsonObject[]) : []), warning]
      return ok({ ...outcome.value, data: { ...outcome.value.data, warnings: all } })
    },
  }
}
