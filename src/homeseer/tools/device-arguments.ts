/**
 * Device arguments: arguments that several device tools share.
 */
import { z } from 'zod'

/** HomeSeer's refs are positive numbers; no HomeSeer has refs of more than nine digits. */
export const refArgument = z.int().min(0).max(999_999_999)
export const refsArgument = z.array(refArgument).min(1).max(1_000)
export const nameFilterArgument = z.string().max(200).exactOptional()
export const deviceItemListSchema = z.array(z.looseObject({ ref: z.int(), name: z.string() }))
export const maxItemsArgument = z.int().min(1).exactOptional().describe('At most this many devices in the answer.')
export const includeControlsArgument = z.boolean().default(false).describe('With what each device can be told.')
export const includeRawArgument = z.boolean().default(false).describe('With HomeSeer’s own fields.')
