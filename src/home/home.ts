/**
 * Home: the whole house for an agent with a small context: at most twenty tools over the families' own, one snapshot,
 * one set of handles, sentences as answers.
 */
import type { Service } from '../bus/capability.ts'
import { createAnnounceAndCameraTools } from './announce-and-camera-tools.ts'
import { startAnnouncingApprovalResources, createApprovalStatusTools } from './approval-status-tools.ts'
import { createToolSearchAndCallTools } from './tool-search-and-call-tools.ts'
import type { HomeDependencies } from './home-dependencies.ts'
import { createHeatingTools } from './heating-tools.ts'
import { LaterCallRunner } from './later-runner.ts'
import { createLaterTools } from './later-tools.ts'
import { createHomeLookupTools } from './home-lookup-tools.ts'
import { createChangesAndAttentionTools } from './changes-and-attention-tools.ts'
import { createSceneTools } from './scene-tools.ts'
import { createSetTools } from './set-tools.ts'
import { createUndoTools } from './undo-tools.ts'

export function createHomeService(parts: HomeDependencies): Service {
  const runner = new LaterCallRunner(parts)
  let stopAnnouncing = (): void => undefined
  const capabilities = [
    ...createHomeLookupTools(parts),
    ...createSetTools(parts),
    ...createSceneTools(parts),
    ...createHeatingTools(parts),
    ...createAnnounceAndCameraTools(parts),
    ...createLaterTools(parts),
    ...createChangesAndAttentionTools(parts),
    ...createApprovalStatusTools(parts),
    ...createUndoTools(parts),
    ...createToolSearchAndCallTools(parts),
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
    start: () => {
      stopAnnouncing = startAnnouncingApprovalResources(parts)
      return runner.start()
    },
    stop: () => {
      stopAnnouncing()
      return runner.stop()
    },
    health: () => ({ status: 'ok', details: {} }),
  }
}
