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
import { heatingTools } from './heating-tools.ts'
import { LaterRunner } from './later-runner.ts'
import { laterTools } from './later-tools.ts'
import { lookTools } from './look-tools.ts'
import { recordTools } from './record-tools.ts'
import { sceneTools } from './scene-tools.ts'
import { setTools } from './set-tools.ts'
import { undoTools } from './undo-tools.ts'

export function createHome(parts: HomeParts): Service {
  const runner = new LaterRunner(parts)
  const capabilities = [
    ...lookTools(parts),
    ...setTools(parts),
    ...sceneTools(parts),
    ...heatingTools(parts),
    ...createHomeAnnounceTools(parts),
    ...laterTools(parts),
    ...recordTools(parts),
    ...undoTools(parts),
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
