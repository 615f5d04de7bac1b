/**
 * Witness text: what a witness prints when it has started, for the person who configures the gateway.
 */

export interface StartedWitnessFacts {
  /** The host at which it was told to listen. */
  readonly host: string
  readonly url: string
  readonly vkey: string
  readonly logs: readonly string[]
}

export function formatStartedWitness({ host, url, vkey, logs }: StartedWitnessFacts): string {
  const served =
    logs.length === 0
      ? 'no log yet: name one with --log KEY, which `hearthbus ledger key` prints there'
      : logs.join(', ')
  // The witness listens for other machines, but the printed address is only valid on this one.
  const hint =
    host === '0.0.0.0' || host === '::'
      ? [`On another machine, write this machine’s address instead of ${new URL(url).hostname}.`]
      : []
  return [
    `The witness listens at ${url} for ${served}.`,
    'In the configuration of a gateway that it should watch over:',
    '  ledger:',
    '    witnesses:',
    `      - vkey: ${vkey}`,
    `        url: ${url}`,
    ...hint,
    '',
  ].join('\n')
}
