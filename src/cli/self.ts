/**
 * Self: how this very program is started, for lines that others copy.
 *
 * Pure.
 */
import { join, relative } from 'node:path'

/** Installed, the script is a link named hearthbus on the path; in a clone there is a wrapper beside the source. */
export function selfCommand(script: string): string {
  return script.endsWith('/hearthbus') ? 'hearthbus' : join(script, '..', '..', 'bin', 'hearthbus')
}

/** As short as it can be from where the person is. */
export function shortCommand(script: string, workingFolder: string): string {
  const command = selfCommand(script)
  const near = relative(workingFolder, command)
  return command === 'hearthbus' || near.startsWith('..') ? command : near
}
