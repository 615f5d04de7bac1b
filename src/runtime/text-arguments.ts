/**
 * Text arguments: the schemas for text that a caller writes into a record. It is bounded and valid Unicode.
 */
import { z } from 'zod'

/** UUIDs, session ids, names of agents and projects: things that are compared, not read. */
const MAX_ID_LENGTH = 128
/** The first two are promised by the catalogue that spec 5 § 1 points to. In UTF-16 units, as Zod and JSON count. */
export const MAX_TITLE_LENGTH = 256
export const MAX_DESCRIPTION_LENGTH = 8_000
export const MAX_REASON_LENGTH = 2_000
/** A thought is a page, not a file: anything larger should be stored elsewhere and referred to. */
export const MAX_THOUGHT_LENGTH = 32_000

/**
 * A lone surrogate has no UTF-8 form and so no canonical JSON: it could neither be stored nor hashed unchanged. NUL
 * ends a string for many programs that might read the database.
 */
export function createTextArgument(maxLength: number, empty = 'must not be empty'): z.ZodString {
  return z
    .string()
    .min(1, empty)
    .max(maxLength)
    .refine((value) => value.isWellFormed() && !value.includes('\0'), 'must be Unicode text without NUL')
}

/** Normalised to the one spelling of times in the ledger, so that text sorts as time does. */
export const timeArgument = z.iso
  .datetime({ offset: true })
  .transform((time) => new Date(time).toISOString())
  .describe('ISO 8601, such as 2026-01-31T22:00:00Z or with an offset.')

export const createIdArgument = (): z.ZodString => createTextArgument(MAX_ID_LENGTH)
