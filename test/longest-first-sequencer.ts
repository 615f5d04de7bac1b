/**
 * Longest first: a fresh clone has no durations of earlier runs, and a file that waits a minute for time-outs would else
 * begin when all others have ended.
 */
import { BaseSequencer } from 'vitest/node'
import type { TestSpecification } from 'vitest/node'

const LONGEST = [
  'consensus-trouble',
  'mesh-restore',
  'package',
  'cli-trouble',
  'mesh-founder-restore',
  'audited-day',
  'homeseer-trouble',
  'mcp-clients',
  'mesh-approvals',
  'mesh-names',
  'home-strangers',
  'mesh-nats',
  'mesh-http',
  'stdio-bridge',
  'tamper',
  'tamper-state',
  'ebus-houses',
  'mesh-spec',
  'consensus-gossip',
  'mesh-chaos',
  'console-sessions',
  'consensus',
  'console-nodes',
  'homeseer-crash',
  'quorum-rule',
  'homeseer-crash-matrix',
  'homeseer-detours',
  'ebus-cli',
  'console',
  'tokens',
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
