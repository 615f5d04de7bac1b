/**
 * Witness text: what a witness says when it has started, for whoever configures the gateway that it watches over.
 */

export interface StartedWitnessFacts {
  /** As it was told to listen. */
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
  // It was opened to others, and what is printed leads back to this machine alone.
  const hint =
    host === '0.0.0.0' || host === '::'
      ? [`On another machine this one's address goes where ${new URL(url).hostname} is.`]
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
