/**
 * Ledger: commands that sign, prove, check and export the log.
 *
 * Pure.
 */
import type { Command } from 'commander'

export function addLedgerCommands(program: Command): void {
  program.command('ledger').description('the log of everything that happened')
}
