/**
 * Witness text: what a witness prints when it has started, for the person who configures the gateway, and when its
 * memory was set back.
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

export const WITNESS_RESTORED_HINT =
  'Restore the newest copy. If it was you who put an older copy back, start it once with --restored: it then continues with the trees that the pin has.'

/** `path` is that of the pin. */
export function formatWitnessRollback({ folder, path, log }: Record<'folder' | 'path' | 'log', string>): string {
  return `${folder} holds an older tree of ${log} than this witness cosigned (as ${path} says, outside of that directory), or none: an older copy was put back, or somebody wrote there.`
}

export function formatWitnessWithoutPin(path: string, trouble: string): string {
  return `Nothing outside of this witness's directory remembers what it cosigned: ${path} cannot be written (${trouble}). Who can write into the directory while it is stopped can make it forget.`
}
