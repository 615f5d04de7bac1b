/**
 * Optional field schemas: the kinds of values that may be absent in a plane.
 */
import { z } from 'zod'

/** Absent, never null and never zero, because zero would look like a measured value. */
export const optionalNumber = z.number().exactOptional()
export const optionalFlag = z.boolean().exactOptional()
export const optionalCodes = z.array(z.int()).exactOptional()
export const optionalText = z.string().exactOptional()
