import type { FileTexts } from "../en/files";
import type { PartialTexts } from "../fallback";

/** Bengali texts for messages and files that are too long or cannot be read: the problem, and the remedy. */
export const texts: PartialTexts<FileTexts> = {
  tooLong: {
    title: "মেসেজটি খুব বড়",
    text: (used, window) => `এই মেসেজসহ চ্যাটে ${used}টি টোকেন হবে। মডেল ${window}টির কম পড়ে।`,
    farTooLong: (window) => `মডেল ${window}টি টোকেন পড়ে, এই মেসেজসহ চ্যাটটি তার চেয়ে অনেক বড়।`,
    shorten: "এটি ছোট করুন, অথবা:",
    shortenAlone: "এটি ছোট করুন।",
    remove: (name) => `${name} সরান`,
    leave: (messages) => `প্রথম ${messages === 1 ? "মেসেজটি" : `${messages}টি মেসেজ`} ছাড়া পাঠান`,
    summarize: (messages) => `প্রথম ${messages === 1 ? "মেসেজের" : `${messages}টি মেসেজের`} সারাংশ করুন`,
    summarizing: "মডেল সারাংশ লিখছে। তারপর মেসেজটি পাঠানো হবে।",
    leaveTitle: "এগুলি চ্যাটে থাকবে, তবে মডেল আর এগুলি দেখবে না।",
    move: "নতুন চ্যাটে জিজ্ঞাসা করুন",
  },

  allSeen: "এখান থেকে মডেল আবার সব মেসেজ দেখে।",
  leftOut: (messages) => `এখান থেকে মডেল প্রথম ${messages === 1 ? "মেসেজটি" : `${messages}টি মেসেজ`} আর দেখে না।`,

  summary: "সারাংশ",
  summarized: (messages) => `এখান থেকে মডেল প্রথম ${messages === 1 ? "মেসেজের" : `${messages}টি মেসেজের`} সারাংশ দেখে।`,

  overflow: {
    server: "মেসেজটি সার্ভারের জন্য খুব বড়, তাই এটি শুধু এই ব্রাউজারেই থাকবে। এটি ছোট করুন বা কোনো ফাইল বাদ দিন।",
    browser: "মেসেজটি এত বড় যে পাঠানো পর্যন্ত রাখা যাবে না। পৃষ্ঠা বন্ধ বা রিলোড করলে এটি হারিয়ে যাবে।",
  },

  notRead: (name) => `${name} পড়া যায়নি।`,

  unreadable: {
    tooBig: (name) => `${name}-এ 512 KiB-এর বেশি টেক্সট আছে। শুধু দরকারি অংশটি যোগ করুন।`,
    tooBigPdf: (name) => `${name} 32 MiB-এর চেয়ে বড়। শুধু দরকারি অংশটি যোগ করুন।`,
    noText: (name) => `${name} টেক্সট ফাইল, PDF, docx, xlsx, pptx বা epub নয়। মডেল শুধু টেক্সট পড়ে: ডকুমেন্ট হলে এর কোনো একটি ফরম্যাটে সেভ করুন।`,
    old: (name) => `${name} পুরনো Office ফরম্যাটে আছে। docx, xlsx বা pptx হিসেবে সেভ করে যোগ করুন।`,
    empty: (name) => `${name}-এ কোনো টেক্সট নেই। লেখার ছবিতে আগে টেক্সট শনাক্তকরণ (OCR) চালাতে হবে।`,
    tooCostly: (name) => `${name} পড়তে খুব বেশি মেমরি বা সময় লাগে। শুধু দরকারি অংশটি যোগ করুন।`,
    scanned: (name) => `${name}-এ কোনো টেক্সট নেই, শুধু স্ক্যান করা পৃষ্ঠা আছে। আগে এতে টেক্সট শনাক্তকরণ (OCR) চালান।`,
    encrypted: (name) => `${name} পাসওয়ার্ড দিয়ে লক করা। পাসওয়ার্ড ছাড়া একটি কপি সেভ করে যোগ করুন।`,
    broken: (name) => `${name} নষ্ট, পড়া যাচ্ছে না। এটি আবার সেভ বা ডাউনলোড করুন।`,
    gone: (name) => `${name} খোলা যাচ্ছে না। এটি ফোল্ডার হলে তার ভিতরের ফাইল বেছে নিন, না হলে আবার বেছে নিন।`,
  },
};
