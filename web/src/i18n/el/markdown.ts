import type { MarkdownTexts } from "../en/markdown";
import type { PartialTexts } from "../fallback";

/** Greek texts for rendered answers. */
export const texts: PartialTexts<MarkdownTexts> = {
  code: (language) => `Κώδικας, ${language}`,
  copyCode: "Αντιγραφή κώδικα",
  wrap: "Αναδίπλωση γραμμών",
  download: (name) => `Λήψη ως ${name}`,
  preview: "Προεπισκόπηση",
  previewProblem: (reason) => `Αυτό το στοιχείο δεν μπόρεσε να εμφανιστεί: ${reason}`,
  previewModule: (name) => `Το άρθρωμα ${name} δεν περιλαμβάνεται στις προεπισκοπήσεις, που έχουν μόνο react και react-dom.`,
  previewEmpty: "Δεν υπάρχει στοιχείο για εμφάνιση. Εξαγάγετε ένα ως προεπιλογή.",
  previewOf: (language) => `Προεπισκόπηση ${language}`,
  showCode: "Κώδικας",
  showDiagram: "Διάγραμμα",
  diagramImage: "Διάγραμμα. Ο κώδικας το περιγράφει ως κείμενο.",
  diagramProblem: "Αυτό το διάγραμμα δεν μπόρεσε να σχεδιαστεί.",
  diagramError: (reason) => `Αυτό το διάγραμμα δεν μπόρεσε να σχεδιαστεί: ${reason}.`,
  enlarge: "Μεγέθυνση",
  save: "Αποθήκευση διαγράμματος",
  notSaved: "Το πρόγραμμα περιήγησης δεν μπόρεσε να σχεδιάσει την εικόνα. Αποθηκεύστε το διάγραμμα ως SVG.",
  moveDiagram: "Διάγραμμα. Τα βέλη το μετακινούν, τα + και - αλλάζουν το ζουμ, το 0 το δείχνει ολόκληρο.",
  zoomIn: "Μεγέθυνση",
  zoomOut: "Σμίκρυνση",
  fit: "Εμφάνιση ολόκληρου",
  plain: "κείμενο",
  done: "ολοκληρώθηκε",
  todo: "εκκρεμεί",
  footnotes: "Υποσημειώσεις",
  footnote: (number) => `Υποσημείωση ${number}`,
  backToText: (number) => `Επιστροφή στην παραπομπή ${number}`,
  backToOccurrence: (number, occurrence) => `Επιστροφή στην παραπομπή ${number}, εμφάνιση ${occurrence}`,
};
