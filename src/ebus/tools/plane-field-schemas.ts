/**
 * Plane field schemas: the kinds of values that a plane can lack.
 */
import { z } from 'zod'

/** Absent, never null and never zero: a sensor that is not there has not measured nothing. */
export const optionalNumber = z.number().exactOptional()
export const optionalFlag = z.boolean().exactOptional()
export const optionalCodes = z.array(z.int()).exactOptional()
export const optionalText = z.string().exactOptional()
