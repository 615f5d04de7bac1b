/**
 * Agent contract: rules for working with these tools, written for a model.
 */
/**
 * The content of `hs4://agent/contract` and of the prompt `hs4_agent_contract`: "LLM workflow rules and mutation safety
 * defaults" (spec 4, Resources). The guard enforces every rule, or our answers make it possible to follow it.
 */
export const AGENT_CONTRACT_DOCUMENT = {
  contractVersion: '1.0',
  rules: [
    'Read before you write: hs4://state/summary, then hs4.resolve.* for whatever was named.',
    'Act on a name only when its verdict is `act`. When it is `ask`, ask the person; never choose for them.',
    'Plan first: dryRun, or hs4.change.prepare. Show the person what would change.',
    'Every change needs confirm, intent and reason. They are recorded; say what is true.',
    'Locks, garage doors, alarms, scripts and devices with voice confirmation wait for a person’s approval. Say so and wait.',
    'Believe `verification`, not `ok`. If a device did not change as requested, say so; do not try another device.',
    'An outcome that is UNKNOWN is not a failure: read the state back before doing anything else.',
  ],
  defaults: {
    intentToolsDryRunFirst: true,
    prepareCommitEnabled: true,
    actionableErrorsAlwaysOn: true,
    exactNamesActSimilarNamesAsk: true,
  },
  recommendedSequence: [
    'hs4.resolve.devices or hs4.resolve.events',
    'hs4.devices.get with includeControls',
    'hs4.change.prepare',
    'hs4.change.commit',
    'hs4.devices.status.get with fresh',
  ],
} as const
