/**
 * Home: the whole house for an agent that has little room: at most twenty tools over the families' own, one picture, one
 * set of handles, sentences for answers.
 *
 * Reads and writes through the families' own tools.
 */
import type { Service } from '../bus/capability.ts'
import { createHomeAnnounceTools } from './announce-tools.ts'
import { createHomeCallTools } from './call-tools.ts'
import type { HomeParts } from './dependencies.ts'
import { createHeatingTools } from './heating-tools.ts'
import { LaterRunner } from './later-runner.ts'
import { createLaterTools } from './later-tools.ts'
import { createLookTools } from './look-tools.ts'
import { createRecordTools } from './record-tools.ts'
import { createSceneTools } from './scene-tools.ts'
import { createSetTools } from './set-tools.ts'
import { createUndoTools } from './undo-tools.ts'

export function createHome(parts: HomeParts): Service {
  const runner = new LaterRunner(parts)
  const capabilities = [
    ...createLookTools(parts),
    ...createSetTools(parts),
    ...createSceneTools(parts),
    ...createHeatingTools(parts),
    ...createHomeAnnounceTools(parts),
    ...createLaterTools(parts),
    ...createRecordTools(parts),
    ...createUndoTools(parts),
    ...createHomeCallTools(parts),
  ]
  return {
    name: 'home',
    prefixes: [
      'home_',
      'heating_',
      'hot_water',
      'announce',
      'look',
      'later',
      'changes',
      'undo',
      'attention',
      'approval',
      'tools_',
    ],
    capabilities: () => capabilities,
    start: () => runner.start(),
    stop: () => runner.stop(),
    health: () => ({ status: 'ok', details: {} }),
  }
}
