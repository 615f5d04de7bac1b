/**
 * Models: the models service, where the owner configured one. Delete `models/`, this file and its line in main.ts, and
 * the rest still builds.
 *
 * Only joins.
 */
import type { Service } from '../bus/capability.ts'
import type { Config } from '../config/schema.ts'
import { systemClock } from '../core/clock.ts'
import type { Logger } from '../core/logger.ts'

/** Loads nothing if no model is configured. */
export async function createLanguageModelServices({ models }: Config, logger: Logger): Promise<readonly Service[]> {
  if (!models.builtin && models.endpoints.length === 0) return []
  const { createModelsService } = await import('../models/models-service.ts')
  return [createModelsService({ config: models, environment: process.env, clock: systemClock, logger })]
}
