/**
 * Longest first: a fresh clone has no durations of earlier runs, and a file that waits a minute for time-outs would else
 * begin when all others have ended.
 */
import { BaseSequencer } from 'vitest/node'
import type { TestSpecification } from 'vitest/node'

const LONGEST = [
  'quorum-rule',
  'consensus-trouble',
  'cli-trouble',
  'devices/faults',
  'mesh-lossy',
  'mesh-spec',
  'ebus-houses',
  'homeseer-detours',
  'consensus-gossip',
  'tamper-state',
  'tamper',
  'homeseer-crash-matrix',
  'home-strangers',
  'tokens',
  'consensus',
]

function rankByDuration({ moduleId }: TestSpecification): number {
  const rank = LONGEST.findIndex((name) => moduleId.endsWith(`/flows/${name}.test.ts`))
  return rank === -1 ? LONGEST.length : rank
}

export default class LongestFirstSequencer extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    return sorted.toSorted((one, other) => rankByDuration(one) - rankByDuration(other))
  }
}
